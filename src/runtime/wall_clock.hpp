#pragma once

#include <chrono>

namespace holdfast::detail {

/// What the calendar says, in seconds since 1970: for people only. It may jump; nothing is decided
/// by it.
[[nodiscard]] inline std::chrono::seconds wall_clock_seconds() noexcept {
    return std::chrono::duration_cast<std::chrono::seconds>(
        std::chrono::system_clock::now().time_since_epoch());
}

} // namespace holdfast::detail
