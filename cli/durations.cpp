#include "durations.hpp"
#include "complaint.hpp"
#include "text.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <system_error>

namespace holdfast::cli {

namespace {

struct unit {
    std::string_view name;
    double seconds;
};

constexpr std::array units{
    unit{"", 1}, unit{"ms", 0.001}, unit{"s", 1}, unit{"m", 60}, unit{"h", 3600}, unit{"d", 86400}};

/// A hundred years: beyond it a wait is a typing error, and nanoseconds would soon overflow.
constexpr double longest_in_seconds = 100.0 * 365 * 86400;

[[noreturn]] void refuse(std::string_view text, std::string_view option, std::string_view why) {
    throw usage_error{std::string{option} + " '" + shortened(printable(text), 40) + "' " +
                      std::string{why}};
}

std::string counted(std::int64_t count, std::string_view name) {
    return std::to_string(count) + std::string{name};
}

std::string two_units(std::int64_t seconds,
                      std::int64_t large,
                      std::string_view large_name,
                      std::int64_t small,
                      std::string_view small_name) {
    const auto rest = seconds % large / small;
    const auto first = counted(seconds / large, large_name);
    return rest == 0 ? first : first + " " + counted(rest, small_name);
}

} // namespace

duration parse_duration(std::string_view text, std::string_view option) {
    constexpr std::string_view how = "is not a time: write 30, 500ms, 2m or 1.5h";
    double number = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (error != std::errc{} || !std::isfinite(number)) {
        refuse(text, option, how);
    }
    if (std::signbit(number)) {
        refuse(text, option, "is negative");
    }
    const std::string_view name{end, static_cast<std::size_t>(text.data() + text.size() - end)};
    for (const auto& unit : units) {
        if (unit.name == name) {
            const double seconds = number * unit.seconds;
            if (seconds > longest_in_seconds) {
                refuse(text, option, "is more than a hundred years");
            }
            return std::chrono::round<duration>(std::chrono::duration<double>{seconds});
        }
    }
    refuse(text, option, how);
}

std::string human(duration time) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time).count();
    if (seconds < 1) {
        return counted(milliseconds_of(time), "ms");
    }
    if (seconds < 60) {
        return counted(seconds, "s");
    }
    if (seconds < 3600) {
        return two_units(seconds, 60, "m", 1, "s");
    }
    if (seconds < 86400) {
        return two_units(seconds, 3600, "h", 60, "m");
    }
    return two_units(seconds, 86400, "d", 3600, "h");
}

std::int64_t milliseconds_of(duration time) noexcept {
    return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

} // namespace holdfast::cli
