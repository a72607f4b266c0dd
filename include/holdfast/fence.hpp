#pragma once

#include <compare>
#include <cstdint>

namespace holdfast {

/// A number that grows with each exclusive grant of one name.
///
/// Send it along with every effect on the protected resource and let the resource refuse a number
/// lower than the highest it has seen: then a holder that was paused beyond its lease can do no
/// harm. Comparable within one engine and one name. A default-made fence means "none".
class fence {
public:
    constexpr fence() noexcept = default;
    constexpr explicit fence(std::int64_t value) noexcept : value_{value} {}

    /// 1 … 2^63-1, or 0 for none: fits an SQL bigint and a Java long.
    [[nodiscard]] constexpr std::int64_t value() const noexcept { return value_; }
    [[nodiscard]] constexpr explicit operator bool() const noexcept { return value_ != 0; }

    friend constexpr auto operator<=>(fence, fence) noexcept = default;

private:
    std::int64_t value_ = 0;
};

} // namespace holdfast
