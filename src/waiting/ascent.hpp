#pragma once

// The way through several locks, one after another in a fixed order: all of them, or none.
//
//   ask 1 ─granted─▶ ask 2 ─granted─▶ … ─granted─▶ all held? ──yes──▶ DONE
//     │                │                              │ no, one was lost while we waited for
//     another └── refused ─────┴──▶ GIVE_UP                   └──▶ START_OVER, if there is time
//
// Everybody climbs in the same order, so whoever holds the last one that somebody waits for waits
// for nobody: no deadlock. Whoever drives this asks, and gives back what is held at the end of it
// unless that is DONE.

#include <holdfast/clock.hpp>

#include <cstddef>
#include <cstdint>

namespace holdfast::detail {

class ascent {
public:
    ascent(std::size_t locks, duration wait, instant now) noexcept;

    enum class step : std::uint8_t { ask, done, start_over, give_up };

    /// Which lock is to be asked for, and how long it may be waited for.
    [[nodiscard]] std::size_t next() const noexcept { return next_; }
    [[nodiscard]] duration wait_left(instant now) const noexcept;

    /// The next one is ours. `all_held`: and so are, still, all those before it.
    [[nodiscard]] step granted(bool all_held, instant now) noexcept;

private:
    const std::size_t locks_;
    const bool asks_once_;
    const instant give_up_;
    std::size_t next_ = 0;
};

} // namespace holdfast::detail
