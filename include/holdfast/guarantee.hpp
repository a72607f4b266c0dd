#pragma once

#include <holdfast/capabilities.hpp>

#include <cstdint>
#include <string>

namespace holdfast {

/// Something that must be true of a lock, else it is not wanted.
enum class guarantee : std::uint8_t {
    fence = 1,               ///< every grant carries a larger number than the one before
    survives_restart = 2,    ///< an engine that restarts forgets neither grants nor fences
    survives_clock_jump = 4, ///< no clock but our own boot clock can end or prolong it
    fair = 8,                ///< waiters are served in the order of asking
    survives_death = 16,     ///< what a dead holder held comes back by itself
};

/// A set of them: `guarantee::fence | guarantee::fair`.
class guarantees {
public:
    constexpr guarantees() noexcept = default;
    constexpr guarantees(guarantee g) noexcept : bits_{static_cast<std::uint8_t>(g)} {}

    [[nodiscard]] constexpr bool has(guarantee g) const noexcept {
        return (bits_ & static_cast<std::uint8_t>(g)) != 0;
    }
    [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }
    friend constexpr guarantees operator|(guarantees a, guarantees b) noexcept {
        a.bits_ = static_cast<std::uint8_t>(a.bits_ | b.bits_);
        return a;
    }
    friend constexpr bool operator==(guarantees, guarantees) noexcept = default;

private:
    std::uint8_t bits_ = 0;
};
[[nodiscard]] constexpr guarantees operator|(guarantee a, guarantee b) noexcept {
    return guarantees{a} | guarantees{b};
}

/// Why an engine cannot give all of this; empty if it can.
[[nodiscard]] std::string what_is_missing(const capabilities&, guarantees);

} // namespace holdfast
