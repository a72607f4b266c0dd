#pragma once

// What `holdfast` says when it ends. `run` otherwise ends as its command did: the command's own
// status, or 128 + the signal that ended it.

namespace holdfast::cli {

namespace exit_code {
inline constexpr int success = 0;
inline constexpr int contended = 1; ///< or what -E says; for `show` and `release`: nobody holds it
inline constexpr int usage = 64;    ///< an option, a name or a URL that makes no sense
inline constexpr int unavailable = 69; ///< the engine could not be reached until the wait ended
inline constexpr int internal = 70;
inline constexpr int lost = 76;    ///< the lease ended while the command ran
inline constexpr int refused = 77; ///< password, rights
inline constexpr int not_executable = 126;
inline constexpr int not_found = 127;

/// How shells tell of a death by signal.
[[nodiscard]] constexpr int died_of(int signal) noexcept { return 128 + signal; }
} // namespace exit_code

} // namespace holdfast::cli
