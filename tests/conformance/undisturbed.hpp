#pragma once

// Promises that hold only while we get time to run: a lease is renewed in time unless the machine
// stands still. On a machine that does, what was seen counts for nothing and is tried again.

#include <holdfast/clock.hpp>

#include <algorithm>
#include <atomic>
#include <poll.h>
#include <thread>

namespace holdfast::conformance {

/// A thread that does nothing but look at the clock, and sees how long it was kept waiting at
/// worst.
class stall_meter {
public:
    [[nodiscard]] duration worst() const noexcept { return worst_; }

private:
    std::atomic<duration> worst_{duration::zero()};
    std::jthread looks_{[this](const std::stop_token& enough) {
        for (auto last = boot_clock::now(); !enough.stop_requested();) {
            ::poll(nullptr, 0, 5);
            const auto now = boot_clock::now();
            worst_ = std::max(worst_.load(), now - last);
            last = now;
        }
    }};
};

/// The outcome of a trial during which we were never kept waiting for longer than is bearable.
template <class Trial> [[nodiscard]] auto undisturbed(duration bearable, Trial trial) {
    for (int tries = 1;; ++tries) {
        const stall_meter meter;
        auto seen = trial();
        if (meter.worst() < bearable || tries == 20)
            return seen;
    }
}

} // namespace holdfast::conformance
