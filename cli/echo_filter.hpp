#pragma once

#include "signals.hpp"

#include <holdfast/clock.hpp>

#include <chrono>

namespace holdfast::cli {

/// By which way a signal came: to the front, or to the guardian itself (`holdfast ls` shows its
/// pid).
enum class way { front, guardian };

/// Finds the second of two that are one: a signal to the whole group, or to all that are called
/// holdfast, comes by both ways, and the command shall hear it once. Two by the same way are two.
class echo_filter {
public:
    [[nodiscard]] bool is_echo(const arrival& came, way by, instant now) noexcept {
        const bool echo = came.signal == signal_ && came.sender == sender_ && by != by_ &&
                          now - at_ < std::chrono::milliseconds{100};
        signal_ = echo ? 0 : came.signal; // an echo has no echo
        sender_ = came.sender;
        by_ = by;
        at_ = now;
        return echo;
    }

private:
    int signal_ = 0;
    pid_t sender_ = 0;
    way by_ = way::front;
    instant at_{};
};

} // namespace holdfast::cli
