#pragma once

// Chance from a seed: the same numbers on every machine, unlike the distributions of <random>.

#include <cstdint>

namespace holdfast::cli::ordeal {

/// splitmix64.
class chance {
public:
    explicit chance(std::uint64_t seed) noexcept : state_{seed} {}

    std::uint64_t next() noexcept {
        state_ += 0x9E3779B97F4A7C15ULL;
        auto z = state_;
        z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
        z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
        return z ^ (z >> 31U);
    }

    /// 0 … limit-1.
    std::uint64_t below(std::uint64_t limit) noexcept { return limit == 0 ? 0 : next() % limit; }

    bool one_in(std::uint64_t n) noexcept { return below(n) == 0; }

private:
    std::uint64_t state_;
};

} // namespace holdfast::cli::ordeal
