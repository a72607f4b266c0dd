#pragma once

// The command: forked, held at the gate, then let go.
//
//   guardian ── fork ──▶ child: dies with the guardian from here on (PR_SET_PDEATHSIG)
//       │                  │ waits at the gate, all signals blocked
//       │ signals that came during fork are sent on; what the child has already merges with it
//       ├──── open_gate ─▶ │ signals as we were given them; exec
//       │ ◀── errno ────── │ only if exec failed
//
// So a ^C between "granted" and "exec" reaches the command exactly once, or ends the wait.

#include "signals.hpp"

#include <holdfast/fence.hpp>

#include <string>
#include <sys/types.h>
#include <vector>

namespace holdfast::cli {

struct command_setting {
    std::vector<std::string> arguments;
    std::string lock_name;
    holdfast::fence fence;
};

class command {
public:
    /// Forks. Call it from the thread that lives as long as the process: the parent-death signal
    /// looks at the thread. Throws std::system_error.
    command(const command_setting&, const inherited_signals&);
    command(const command&) = delete;
    command& operator=(const command&) = delete;
    ~command();

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

    /// Lets the child exec. Returns 0, or why it could not.
    [[nodiscard]] int open_gate() noexcept;

private:
    pid_t pid_ = -1;
    int gate_ = -1;   // one byte opens it
    int report_ = -1; // an errno, or end of file
};

} // namespace holdfast::cli
