#pragma once

// Times as people type and read them: 30, 500ms, 2m, 1.5h; and back: 2m 13s.

#include <holdfast/clock.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::cli {

/// A bare number is seconds; units are ms, s, m, h, d. Throws usage_error, which calls the value by
/// the name of its option. Never negative.
[[nodiscard]] duration parse_duration(std::string_view text, std::string_view option);

/// Two units at most: "3s", "2m 13s", "5h 2m", "12d 4h". Below a second: "250ms".
[[nodiscard]] std::string human(duration);

[[nodiscard]] std::int64_t milliseconds_of(duration) noexcept;

} // namespace holdfast::cli
