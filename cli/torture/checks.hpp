#pragma once

// The checks of a run: pure functions over what was recorded, each with tests of its own
// (tests/cli/torture_checks.cpp), also ones in which it has to find something.

#include "record.hpp"
#include "vault.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace holdfast::cli::ordeal {

using attempts = std::vector<attempt>;
using pair_of_attempts = std::pair<attempt, attempt>;

/// From … to, without its end.
struct window {
    tick from = 0;
    tick to = 0;
};

// --------------------------------------------------------------------- nobody beside a holder

struct overlap_report {
    std::int64_t count = 0; ///< grants that came while the lock was taken
    tick longest = 0;
    std::optional<pair_of_attempts> first;
};

/// All of one lock. A writer is alone; of permits, at most so many are out.
[[nodiscard]] overlap_report check_overlaps(std::span<const attempt>, std::size_t permits);

// ------------------------------------------------------------------------------- fences grow

/// Whether a lease that is handed on inside one process gets a fence of its own.
enum class fence_step : std::uint8_t { each_hold, each_grant };

struct fence_report {
    std::int64_t regressions = 0;
    std::optional<pair_of_attempts> first;
};

/// All of one lock: whoever asked after another had been granted has a larger fence, and no two
/// have the same. Attempts that are not exclusive do not count.
[[nodiscard]] fence_report check_fences(std::span<const attempt>, fence_step);

// --------------------------------------------------------------- a counter that checks nothing

struct counter_report {
    std::int64_t written = 0;
    std::int64_t lost = 0;        ///< increments that another one undid
    std::int64_t unexplained = 0; ///< writes on top of another while nobody had outstayed its lease
    std::optional<pair_of_attempts> first; ///< unexplained
};

/// All of one counter. A holder that writes after its deadline may destroy the work of others: no
/// lock can help that, only a fence can. Any other lost increment is the lock's fault.
[[nodiscard]] counter_report check_counter(std::span<const attempt>);

// --------------------------------------------------------------------- a counter with a fence

struct vault_report {
    std::int64_t written = 0;
    std::int64_t lost = 0; ///< writes that did not build on the one before
    std::optional<std::pair<vault_entry, vault_entry>> first;
};

[[nodiscard]] vault_report check_vault(std::span<const vault_entry>);

// ----------------------------------------------------------------------------- it goes on

struct liveness_report {
    tick longest_wait = 0; ///< of one, while all were well
    tick longest_gap = 0; ///< in one piece: it was free although somebody waited, and all were well
    window gap;           ///< that piece
    tick longest_miss = 0;         ///< of one's wait, how long it was free, in all
    std::optional<attempt> missed; ///< whose wait that was
};

/// All of one lock; `healthy` in order and apart from each other. A lock is free while nobody
/// believes in holding it; permits are while fewer than so many do.
[[nodiscard]] liveness_report
check_liveness(std::span<const attempt>, std::size_t permits, std::span<const window> healthy);

/// What is left of `whole` without the disturbances, each with `settling` after it.
[[nodiscard]] std::vector<window>
healthy_windows(window whole, std::vector<window> disturbances, tick settling);

} // namespace holdfast::cli::ordeal
