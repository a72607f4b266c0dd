#include <holdfast/error.hpp>
#include <holdfast/retry.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <vector>

namespace holdfast {
namespace {

constexpr std::uint32_t doublings_at_most = 29;

struct unit {
    std::string_view name;
    duration length;
};
constexpr std::array units{unit{"h", std::chrono::hours{1}},
                           unit{"m", std::chrono::minutes{1}},
                           unit{"s", std::chrono::seconds{1}},
                           unit{"ms", std::chrono::milliseconds{1}},
                           unit{"us", std::chrono::microseconds{1}},
                           unit{"ns", duration{1}}};

[[nodiscard]] duration times_without_overflow(duration base, std::uint64_t factor) noexcept {
    const auto most = std::numeric_limits<duration::rep>::max();
    if (base.count() != 0 && factor > static_cast<std::uint64_t>(most / base.count()))
        return forever;
    return base * static_cast<duration::rep>(factor);
}

[[nodiscard]] std::string written(duration d) {
    for (const auto& u : units)
        if (d % u.length == duration::zero() && (d != duration::zero() || u.name == "s"))
            return std::to_string(d / u.length) + std::string{u.name};
    return {};
}

// -------------------------------------------------------------------------- reading a policy

[[noreturn]] void refuse(std::string_view text) {
    throw_error(
        errc::bad_option,
        "there is no retry policy '" + std::string{text.substr(0, 60)} +
            "'; write once(1s), times(3, 1s), until_elapsed(30s, 1s), exponential(100ms, 5),"
            " bounded_exponential(100ms, 5s, 10) or forever(1s)");
}

[[nodiscard]] std::string_view trimmed(std::string_view s) noexcept {
    while (!s.empty() && s.front() == ' ')
        s.remove_prefix(1);
    while (!s.empty() && s.back() == ' ')
        s.remove_suffix(1);
    return s;
}

/// "name(a, b)" in its parts; the name alone comes back without arguments.
class call_text {
public:
    explicit call_text(std::string_view text) : whole_{text} {
        text = trimmed(text);
        const auto open = text.find('(');
        name = trimmed(text.substr(0, open));
        if (open == std::string_view::npos || text.back() != ')')
            refuse(whole_);
        auto inside = text.substr(open + 1, text.size() - open - 2);
        for (;;) {
            const auto comma = inside.find(',');
            arguments_.push_back(trimmed(inside.substr(0, comma)));
            if (comma == std::string_view::npos)
                break;
            inside.remove_prefix(comma + 1);
        }
    }

    [[nodiscard]] bool is(std::string_view wanted, std::size_t count) const noexcept {
        return name == wanted && arguments_.size() == count;
    }
    [[nodiscard]] std::uint32_t count(std::size_t at) const {
        std::uint32_t n = 0;
        const auto text = arguments_[at];
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
        if (error != std::errc{} || end != text.data() + text.size() || n == 0)
            refuse(whole_);
        return n;
    }
    [[nodiscard]] duration time(std::size_t at) const {
        std::uint32_t n = 0;
        const auto text = arguments_[at];
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
        const std::string_view name_of_unit{
            end, static_cast<std::size_t>(text.data() + text.size() - end)};
        if (error == std::errc{} && n > 0)
            for (const auto& u : units)
                if (u.name == name_of_unit)
                    return u.length * n;
        refuse(whole_);
    }

    std::string_view name;

private:
    std::string_view whole_;
    std::vector<std::string_view> arguments_;
};

} // namespace

std::optional<duration> retry_policy::pause_before(std::uint32_t retry,
                                                   duration elapsed,
                                                   std::uint64_t chance) const noexcept {
    switch (how_) {
    case kind::patient:
    case kind::endless:
        return pause_;
    case kind::counted:
        return retry < times_ ? std::optional{pause_} : std::nullopt;
    case kind::timed:
        return elapsed < most_ ? std::optional{pause_} : std::nullopt;
    case kind::growing: {
        if (retry >= std::min(times_, doublings_at_most))
            return std::nullopt;
        const auto factor = std::max<std::uint64_t>(1, chance % (std::uint64_t{2} << retry));
        return std::min(most_, times_without_overflow(pause_, factor));
    }
    }
    return std::nullopt;
}

retry_policy retry_policy::named(std::string_view text) {
    const call_text said{text};
    if (said.is("once", 1))
        return retry::once(said.time(0));
    if (said.is("times", 2))
        return retry::times(said.count(0), said.time(1));
    if (said.is("until_elapsed", 2))
        return retry::until_elapsed(said.time(0), said.time(1));
    if (said.is("exponential", 2))
        return retry::exponential(said.time(0), said.count(1));
    if (said.is("bounded_exponential", 3))
        return retry::bounded_exponential(said.time(0), said.time(1), said.count(2));
    if (said.is("forever", 1))
        return retry::forever(said.time(0));
    refuse(text);
}

std::string retry_policy::name() const {
    const auto n = std::to_string(times_);
    switch (how_) {
    case kind::patient:
        return "patient";
    case kind::counted:
        return times_ == 1 ? "once(" + written(pause_) + ")"
                           : "times(" + n + ", " + written(pause_) + ")";
    case kind::timed:
        return "until_elapsed(" + written(most_) + ", " + written(pause_) + ")";
    case kind::growing:
        return most_ == forever ? "exponential(" + written(pause_) + ", " + n + ")"
                                : "bounded_exponential(" + written(pause_) + ", " + written(most_) +
                                      ", " + n + ")";
    case kind::endless:
        return "forever(" + written(pause_) + ")";
    }
    return {};
}

} // namespace holdfast
