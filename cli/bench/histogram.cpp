#include "histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace holdfast::cli::benchmark {

// Below `steps` a bucket is one nanosecond wide; from there on each doubling has `steps` of them.
std::size_t histogram::bucket_of(std::uint64_t value) noexcept {
    if (value < steps) {
        return value;
    }
    const auto doubling = static_cast<std::size_t>(std::bit_width(value)) - 5;
    const auto bucket = doubling * steps + (value >> doubling);
    return std::min(bucket, size - 1);
}

std::int64_t histogram::end_of(std::size_t bucket) noexcept {
    if (bucket < 2 * steps) {
        return static_cast<std::int64_t>(bucket) + 1;
    }
    const auto doubling = bucket / steps - 1;
    return static_cast<std::int64_t>((bucket % steps + steps + 1) << doubling);
}

void histogram::add(std::int64_t nanoseconds) noexcept {
    const auto value = std::max<std::int64_t>(nanoseconds, 0);
    ++buckets_[bucket_of(static_cast<std::uint64_t>(value))];
    ++count_;
    max_ = std::max(max_, value);
}

void histogram::add(const histogram& other) noexcept {
    for (std::size_t i = 0; i < size; ++i) {
        buckets_[i] += other.buckets_[i];
    }
    count_ += other.count_;
    max_ = std::max(max_, other.max_);
}

std::int64_t histogram::percentile(double percent) const noexcept {
    const auto wanted =
        static_cast<std::int64_t>(std::ceil(static_cast<double>(count_) * percent / 100));
    std::int64_t seen = 0;
    for (std::size_t i = 0; i < size; ++i) {
        seen += buckets_[i];
        if (seen >= wanted && seen > 0) {
            return std::min(end_of(i) - 1, max_);
        }
    }
    return max_;
}

std::vector<histogram::doubling> histogram::doublings() const {
    std::vector<doubling> all;
    for (std::size_t i = 0; i < size; ++i) {
        constexpr std::uint64_t largest = std::uint64_t{1} << 62;
        const auto end = std::min(static_cast<std::uint64_t>(end_of(i)), largest);
        const auto below = static_cast<std::int64_t>(std::bit_ceil(end));
        if (all.empty() || all.back().below != below) {
            all.push_back({.below = below, .count = 0});
        }
        all.back().count += buckets_[i];
    }
    const auto used = [](const doubling& one) { return one.count > 0; };
    all.erase(std::find_if(all.rbegin(), all.rend(), used).base(), all.end());
    all.erase(all.begin(), std::find_if(all.begin(), all.end(), used));
    return all;
}

// ---------------------------------------------------------------------------------------- drawing

namespace {

std::string_view variable(const char* name) {
    const char* value = std::getenv(name); // NOLINT(concurrency-mt-unsafe): nobody sets it
    return value == nullptr ? std::string_view{} : value;
}

bool says_utf8(std::string locale) {
    std::transform(locale.begin(), locale.end(), locale.begin(), [](unsigned char c) {
        return static_cast<char>(std::tolower(c));
    });
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
}

std::string bar(double part, std::size_t columns, charset how) {
    const auto eighths = static_cast<std::size_t>(part * static_cast<double>(columns * 8));
    if (how == charset::ascii) {
        return std::string((eighths + 7) / 8, '#');
    }
    constexpr std::array<const char*, 8> last{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    std::string text;
    for (std::size_t i = 0; i < eighths / 8; ++i) {
        text += "█";
    }
    return text + (eighths == 0 && part > 0 ? last[1] : last[eighths % 8]);
}

std::string padded(const std::string& text, std::size_t columns, std::size_t taken) {
    return std::string(columns > taken ? columns - taken : 0, ' ') + text;
}

} // namespace

charset charset_of_terminal() {
    if (variable("TERM") == "dumb") {
        return charset::ascii;
    }
    for (const auto* name : {"LC_ALL", "LC_CTYPE", "LANG"}) { // the first that is set decides
        if (!variable(name).empty()) {
            return says_utf8(std::string{variable(name)}) ? charset::utf8 : charset::ascii;
        }
    }
    return charset::ascii;
}

std::string told_time(std::int64_t nanoseconds, charset how) {
    struct unit {
        double size;
        const char* name;
    };
    const std::array units{unit{1e9, " s"},
                           unit{1e6, " ms"},
                           unit{1e3, how == charset::utf8 ? " µs" : " us"},
                           unit{1, " ns"}};
    const auto value = static_cast<double>(nanoseconds);
    const auto* fits = std::find_if(
        units.begin(), units.end() - 1, [&](const unit& one) { return value >= one.size; });
    std::array<char, 32> text{};
    const bool small = value / fits->size < 100 && fits->size > 1;
    std::snprintf(text.data(), text.size(), small ? "%.1f" : "%.0f", value / fits->size);
    return text.data() + std::string{fits->name};
}

std::string drawn(const histogram& times, std::size_t width, charset how) {
    constexpr std::size_t label = 12;
    constexpr std::size_t number = 10;
    const auto rows = times.doublings();
    std::int64_t most = 1;
    for (const auto& row : rows) {
        most = std::max(most, row.count);
    }
    const auto room = width > label + number + 4 ? width - label - number - 4 : 1;
    std::string text;
    for (const auto& row : rows) {
        const auto time = told_time(row.below, how);
        const bool wide = time.find("µ") != std::string::npos; // two bytes, one column
        const auto count = std::to_string(row.count);
        text += padded("< " + time, label, time.size() + 2 - (wide ? 1 : 0)) +
                padded(count, number, count.size()) + "  " +
                bar(static_cast<double>(row.count) / static_cast<double>(most), room, how) + "\n";
    }
    return text;
}

} // namespace holdfast::cli::benchmark
