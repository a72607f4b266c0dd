#pragma once

// What will be done to the workers, and when: drawn from the seed before anything starts.
//
//   0          calm_until                                             duration - healing duration
//   ├── kills ──┼── pauses, kills, TERM ── quiet ── pauses, kills … ── quiet …┼─── healing ───┤
//
// Faults come in bursts. Between them are quiet times, long enough that everything that dies by
// itself has died and that it can then be seen whether the locks go on.

#include "record.hpp"

#include <holdfast/clock.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace holdfast::cli::ordeal {

enum class fault_kind : std::uint8_t { pause, kill, term };

struct fault {
    duration at{};
    fault_kind what = fault_kind::pause;
    std::uint32_t worker = 0;
    duration length{};          ///< of a pause; of a kill: until somebody new comes
    std::optional<place> aim{}; ///< rather when it holds this: there a fault does most
};

struct schedule {
    duration pauses_from{}; ///< before it, nobody is paused
    std::vector<fault> faults;
};

struct schedule_options {
    std::uint64_t seed = 0;
    duration length{};
    duration ttl{};
    std::uint32_t workers = 1;
};

/// After the last fault, until the locks must be moving again.
[[nodiscard]] duration settling_of(duration ttl) noexcept;

/// How long a free lock may keep its waiters waiting when all are well.
[[nodiscard]] duration patience_of(duration ttl) noexcept;

/// A quiet time: settling, and then enough to see the waiters' patience end.
[[nodiscard]] duration quiet_of(duration ttl) noexcept;

/// Below it there is no room for the faults.
[[nodiscard]] duration shortest_run(duration ttl) noexcept;

[[nodiscard]] schedule draw_schedule(const schedule_options&);

} // namespace holdfast::cli::ordeal
