#pragma once

// What happened, for people (lines, only when asked for) and for comparing two runs (a hash,
// always).

#include "simulation/timeline.hpp"

#include <cstdint>
#include <deque>
#include <sstream>
#include <stdexcept>
#include <string>

namespace holdfast::models {

inline std::ostream& operator<<(std::ostream& to, process_id id) {
    return to << 'p' << static_cast<std::uint32_t>(id);
}

} // namespace holdfast::models

namespace holdfast::simulation {

/// All the parts, one after the other.
template <class... Part> [[nodiscard]] std::string joined(const Part&... parts) {
    std::ostringstream text;
    (text << ... << parts);
    return text.str();
}

/// A property that must always hold did not.
class violation : public std::runtime_error {
public:
    template <class... Part>
    explicit violation(const char* invariant, const Part&... what)
        : std::runtime_error{joined(invariant, ": ", what...)}, invariant_{invariant} {}
    [[nodiscard]] const char* invariant() const noexcept { return invariant_; }

private:
    const char* invariant_;
};

class trace {
public:
    explicit trace(bool with_lines) : with_lines_{with_lines} {}

    void mix(std::uint64_t value) noexcept {
        hash_ = (hash_ ^ value) * 0x100000001b3;
        hash_ ^= hash_ >> 29;
    }
    [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }

    [[nodiscard]] bool with_lines() const noexcept { return with_lines_; }
    template <class... Part> void say(tau when, const Part&... parts) {
        if (!with_lines_)
            return;
        std::ostringstream line;
        line.setf(std::ios::fixed);
        line.precision(3);
        line << static_cast<double>(when.count()) / 1e6 << " ms  ";
        (line << ... << parts);
        lines_.push_back(line.str());
        if (lines_.size() > 20'000)
            lines_.pop_front();
    }
    [[nodiscard]] const std::deque<std::string>& lines() const noexcept { return lines_; }

private:
    const bool with_lines_;
    std::uint64_t hash_ = 0xcbf29ce484222325;
    std::deque<std::string> lines_;
};

/// The first bytes of a nonce: enough to tell them apart in a story.
[[nodiscard]] inline std::string short_name(const nonce& n) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (std::size_t i = 0; i < 3; ++i) {
        text += digits[n.bytes[i] >> 4];
        text += digits[n.bytes[i] & 15];
    }
    return text;
}

} // namespace holdfast::simulation
