#pragma once

#include <holdfast/observer.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace holdfast {

/// How often which time was seen. One writer at a time, any number of readers, no locks.
///
/// Buckets grow by a quarter of a power of two, from 1 µs to an hour and more, so that a quantile
/// is off by at most 19 %.
class histogram {
public:
    static constexpr std::size_t buckets = 4 * 33;

    void record(duration) noexcept;

    [[nodiscard]] std::uint64_t count() const noexcept;
    [[nodiscard]] duration sum() const noexcept;

    /// A time that this part of all (0 to 1) does not exceed; 0 if there are none.
    [[nodiscard]] duration quantile(double part) const noexcept;

    [[nodiscard]] std::uint64_t in_bucket(std::size_t) const noexcept;
    [[nodiscard]] static duration upper_bound_of(std::size_t bucket) noexcept;

private:
    std::array<std::atomic<std::uint64_t>, buckets> seen_{};
    std::atomic<std::int64_t> sum_{0};
};

/// Counts what happens to one client, or to several that share it. Give it to open() as observer.
class metrics final : public observer {
public:
    void on(const event&) override;

    [[nodiscard]] std::uint64_t count(event::kind) const noexcept;

    histogram wait;          ///< from asking for a lock to having it
    histogram hold;          ///< from having it to giving it back or losing it
    histogram hand_off;      ///< from the engine's decision to our hearing of it, where it pushes
    histogram renewal_slack; ///< how much time was left when a renewal was confirmed

private:
    std::array<std::atomic<std::uint64_t>, event::kinds> counts_{};
};

} // namespace holdfast
