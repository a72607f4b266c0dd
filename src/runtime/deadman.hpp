#pragma once

#include <holdfast/clock.hpp>

#include <ctime>

namespace holdfast::detail {

/// The kernel kills this process at the given instant, even while it is stopped, starved or swapped
/// out; so it never executes another instruction after it. Not inherited by fork, gone after exec.
class deadman {
public:
    deadman() = default;
    ~deadman();
    deadman(const deadman&) = delete;
    deadman& operator=(const deadman&) = delete;

    /// `never` disarms. False if the kernel gave no timer.
    bool kill_at(instant);

private:
    instant armed_ = never;
    timer_t timer_{};
    bool made_ = false;
};

} // namespace holdfast::detail
