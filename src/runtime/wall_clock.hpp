#pragma once

#include <chrono>

namespace holdfast::detail {

/// What the calendar says, since 1970: for people only. It may jump; nothing is decided by it.
[[nodiscard]] inline std::chrono::nanoseconds wall_clock_now() noexcept {
    return std::chrono::system_clock::now().time_since_epoch();
}
[[nodiscard]] inline std::chrono::seconds wall_clock_seconds() noexcept {
    return std::chrono::duration_cast<std::chrono::seconds>(wall_clock_now());
}

} // namespace holdfast::detail
