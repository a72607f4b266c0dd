#pragma once

#include "simulation/timeline.hpp"

namespace holdfast::simulation {

/// A clock that starts somewhere and runs a little fast or slow: parts in a million, against true
/// time.
class drifting_clock {
public:
    drifting_clock(duration offset, int ppm) : offset_{offset}, ppm_{ppm} {}

    [[nodiscard]] duration at(tau t) const noexcept { return offset_ + t + drift(t); }

    /// The first true instant at which this clock shows at least `shown`.
    [[nodiscard]] tau when(duration shown) const noexcept {
        const auto apart = shown - offset_;
        auto t = apart - drift(apart) - std::chrono::nanoseconds{2};
        while (at(t) < shown)
            t += std::max<duration>(shown - at(t), std::chrono::nanoseconds{1});
        return t;
    }

    void jump(duration by) noexcept { offset_ += by; }

private:
    [[nodiscard]] duration drift(duration t) const noexcept {
        return duration{t.count() / 1'000'000 * ppm_ + t.count() % 1'000'000 * ppm_ / 1'000'000};
    }

    duration offset_;
    int ppm_;
};

} // namespace holdfast::simulation
