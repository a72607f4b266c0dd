#pragma once

// `holdfast run`: holds a lock while a command runs.

#include <holdfast/clock.hpp>
#include <holdfast/guarantee.hpp>
#include <holdfast/retry.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::cli {

/// What the lock is to be shared with.
enum class sharing {
    nobody,  ///< a mutex: the default
    readers, ///< -s: one of many readers of a read-write lock
    writer,  ///< -x: its writer. On most engines the same as `nobody`
    permits, ///< -N: one of N permits of a semaphore
};

/// What happens to the command when the lease is about to end.
enum class on_lost {
    term,   ///< TERM, and KILL for those who are still there at half time
    kill,   ///< KILL at once
    ignore, ///< nothing: the command checks fences
};

struct run_options {
    std::string url;
    std::string name;
    std::vector<std::string> and_names; ///< --and: held together with it, as mutexes
    std::vector<std::string> command;
    cli::sharing sharing = sharing::nobody;
    std::uint32_t permits = 1;
    std::optional<duration> wait; ///< nothing: for ever; zero: ask once
    duration ttl = std::chrono::seconds{30};
    bool fair = false;
    bool spin = false;
    retry_policy retry{};
    guarantees require{};
    int contended_code = 1;
    cli::on_lost on_lost = on_lost::term;
};

/// Ends the process with the command's code. Throws if it could not even begin.
[[noreturn]] void run(const run_options&);

} // namespace holdfast::cli
