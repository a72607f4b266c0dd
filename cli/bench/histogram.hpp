#pragma once

// How long things took, in buckets that grow with the time: 16 for each doubling, so that a figure
// is at most 6 % too large. Without pointers: it may lie in memory that processes share.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::cli::benchmark {

class histogram {
public:
    void add(std::int64_t nanoseconds) noexcept;
    void add(const histogram&) noexcept;

    [[nodiscard]] std::int64_t count() const noexcept { return count_; }
    [[nodiscard]] std::int64_t max() const noexcept { return max_; }

    /// Not less than `percent` of all took at most so long; 0 if there are none.
    [[nodiscard]] std::int64_t percentile(double percent) const noexcept;

    /// How many took less than so long, but not less than half of it: those doublings that have
    /// something in them, and all in between.
    struct doubling {
        std::int64_t below = 0;
        std::int64_t count = 0;
    };
    [[nodiscard]] std::vector<doubling> doublings() const;

private:
    static constexpr std::size_t steps = 16;
    static constexpr std::size_t size = 62 * steps;
    [[nodiscard]] static std::size_t bucket_of(std::uint64_t) noexcept;
    [[nodiscard]] static std::int64_t end_of(std::size_t bucket) noexcept;

    std::array<std::int64_t, size> buckets_{};
    std::int64_t count_ = 0;
    std::int64_t max_ = 0;
};

/// Whether blocks can be drawn; else it is ASCII.
enum class charset { utf8, ascii };
[[nodiscard]] charset charset_of_terminal();

/// "870 ns", "12.4 µs", "3.1 ms".
[[nodiscard]] std::string told_time(std::int64_t nanoseconds, charset);

/// One line for each doubling, with a bar; no line is wider than `width`.
[[nodiscard]] std::string drawn(const histogram&, std::size_t width, charset);

} // namespace holdfast::cli::benchmark
