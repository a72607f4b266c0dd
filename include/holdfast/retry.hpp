#pragma once

#include <holdfast/clock.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

/// How often, and after which pauses, something is tried again that failed because the engine was
/// away. Being contended is no failure and is never counted. A value; made by the functions below.
class retry_policy {
public:
    /// Goes on as long as the caller waits, with pauses that grow from 10 ms to 1 s.
    constexpr retry_policy() noexcept = default;

    /// How long to pause before retry number `retry` (0 is the first), `elapsed` after the first
    /// failure; nothing if it is time to give up. `chance` is any random number.
    [[nodiscard]] std::optional<duration>
    pause_before(std::uint32_t retry, duration elapsed, std::uint64_t chance) const noexcept;

    /// Whether it leaves the decision to the caller's own patience.
    [[nodiscard]] constexpr bool is_default() const noexcept { return how_ == kind::patient; }

    /// As the functions below are written: "exponential(100ms, 5)". Throws errc::bad_option.
    [[nodiscard]] static retry_policy named(std::string_view);
    [[nodiscard]] std::string name() const;

    friend bool operator==(const retry_policy&, const retry_policy&) = default;

private:
    enum class kind : std::uint8_t { patient, counted, timed, growing, endless };
    constexpr retry_policy(kind how, std::uint32_t n, duration p, duration m) noexcept
        : how_{how}, times_{n}, pause_{p}, most_{m} {}
    friend struct retry;

    kind how_ = kind::patient;
    std::uint32_t times_ = 0;
    duration pause_{};
    duration most_{}; // of one pause, or of all together
};

/// The policies, by name.
struct retry {
    [[nodiscard]] static constexpr retry_policy once(duration pause) noexcept {
        return times(1, pause);
    }
    [[nodiscard]] static constexpr retry_policy times(std::uint32_t n, duration pause) noexcept {
        return {retry_policy::kind::counted, n, pause, forever_};
    }
    /// As long as less than `limit` has passed since the first failure.
    [[nodiscard]] static constexpr retry_policy until_elapsed(duration limit,
                                                              duration pause) noexcept {
        return {retry_policy::kind::timed, 0, pause, limit};
    }
    /// Random pauses from a range that doubles each time.
    [[nodiscard]] static constexpr retry_policy exponential(duration base,
                                                            std::uint32_t n) noexcept {
        return {retry_policy::kind::growing, n, base, forever_};
    }
    [[nodiscard]] static constexpr retry_policy
    bounded_exponential(duration base, duration most, std::uint32_t n) noexcept {
        return {retry_policy::kind::growing, n, base, most};
    }
    [[nodiscard]] static constexpr retry_policy forever(duration pause) noexcept {
        return {retry_policy::kind::endless, 0, pause, forever_};
    }

private:
    static constexpr duration forever_ = duration::max();
};

} // namespace holdfast
