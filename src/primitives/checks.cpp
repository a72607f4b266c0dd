#include "primitives/checks.hpp"

#include <holdfast/error.hpp>
#include <holdfast/primitive.hpp>

#include <string>

namespace holdfast {
namespace {

constexpr std::size_t name_bytes_max = 1024;
constexpr duration ttl_min = std::chrono::milliseconds{50};
constexpr duration ttl_max = std::chrono::hours{24 * 30};
constexpr duration lock_delay_max = std::chrono::hours{1};

/// How many bytes the UTF-8 sequence at `s` has, or 0 if it is not one (overlong, surrogate, cut
/// off).
[[nodiscard]] std::size_t utf8_sequence(std::string_view s) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
    const auto continues = [&](std::size_t i) {
        return i < s.size() && (byte(i) & 0xC0U) == 0x80U;
    };
    const auto first = byte(0);
    if (first < 0x80)
        return 1;
    if (first >= 0xC2 && first <= 0xDF)
        return continues(1) ? 2 : 0;
    if (first >= 0xE0 && first <= 0xEF) {
        if (!continues(1) || !continues(2))
            return 0;
        const bool overlong = first == 0xE0 && byte(1) < 0xA0;
        const bool surrogate = first == 0xED && byte(1) >= 0xA0;
        return overlong || surrogate ? 0 : 3;
    }
    if (first >= 0xF0 && first <= 0xF4) {
        if (!continues(1) || !continues(2) || !continues(3))
            return 0;
        const bool overlong = first == 0xF0 && byte(1) < 0x90;
        const bool beyond = first == 0xF4 && byte(1) >= 0x90;
        return overlong || beyond ? 0 : 4;
    }
    return 0;
}

} // namespace

void check_name(std::string_view name) {
    if (name.empty())
        throw_error(errc::bad_name, "a lock needs a name");
    if (name.size() > name_bytes_max)
        throw_error(errc::bad_name,
                    "a name has at most 1024 bytes, this one has " + std::to_string(name.size()));
    for (std::size_t i = 0; i < name.size();) {
        const auto c = static_cast<unsigned char>(name[i]);
        if (c < 0x20 || c == 0x7F)
            throw_error(errc::bad_name,
                        "a name has no control characters, this one has one at byte " +
                            std::to_string(i));
        const auto length = utf8_sequence(name.substr(i));
        if (length == 0)
            throw_error(errc::bad_name,
                        "a name is UTF-8, this one is not at byte " + std::to_string(i));
        i += length;
    }
}

namespace detail {

const char* what_is_wrong_with(const acquire_options& o) noexcept {
    if (o.ttl < ttl_min || o.ttl > ttl_max)
        return "a ttl is between 50 ms and 30 days";
    if (o.lock_delay < duration::zero() || o.lock_delay > lock_delay_max)
        return "a lock delay is between 0 and 1 hour";
    if (o.max_hold <= duration::zero())
        return "max_hold is more than 0";
    if (o.stop_margin < duration::zero() || o.stop_margin >= o.ttl)
        return "a stop margin is shorter than the ttl";
    if (o.renew && o.stop_margin > o.ttl / 2) // the first renewal comes after a third of it
        return "with renewal, a stop margin is at most half of the ttl";
    if (o.waiting.spins &&
        (o.waiting.first <= duration::zero() || o.waiting.most < o.waiting.first))
        return "the pauses of a spinning waiter are more than 0, and the last not below the first";
    if (o.waiting.spins && (o.order == queueing::fair || o.require.has(guarantee::fair)))
        return "a spinning waiter has no place in a queue: it cannot be fair";
    return nullptr;
}

} // namespace detail
} // namespace holdfast
