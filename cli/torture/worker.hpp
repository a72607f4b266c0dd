#pragma once

#include <sys/types.h>

namespace holdfast::cli::ordeal {

inline constexpr const char* worker_verb = "torture-worker";

/// What a worker finds in its seats.
enum seat : int { arena_seat = 3, journal_seat, vault_seat };

/// The hidden verb: uses locks until TERM comes or the arena says that it is over.
[[nodiscard]] int work(pid_t conductor);

} // namespace holdfast::cli::ordeal
