#pragma once

// The process that the shell knows: it looks like the command and does nothing else.

#include "deadline_board.hpp"
#include "signals.hpp"
#include "tether.hpp"

#include <optional>
#include <sys/types.h>

namespace holdfast::cli {

class front {
public:
    front(pid_t guardian, tether, const inherited_signals&, const deadline_board&);

    /// Returns the exit code.
    [[nodiscard]] int wait_for_the_end();

private:
    std::optional<int> hear_guardian();
    void hear_signals();
    void pass_on(const arrival&);
    void stop_while_waiting();
    [[nodiscard]] int after_the_guardian();

    pid_t guardian_;
    tether tether_;
    const inherited_signals& inherited_;
    const deadline_board& board_;
    signal_queue signals_;
    bool command_started_ = false;
};

} // namespace holdfast::cli
