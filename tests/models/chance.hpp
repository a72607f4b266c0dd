#pragma once

#include "runtime/random.hpp"

#include <holdfast/clock.hpp>

#include <array>
#include <cstdint>

namespace holdfast::models {

/// Chance with a seed: xoshiro256**, filled by splitmix64. The standard distributions differ
/// between libraries, so there are none here: the same seed tells the same story everywhere.
class chance final : public detail::random_source {
public:
    explicit chance(std::uint64_t seed) noexcept {
        for (auto& word : state_)
            word = mix(seed += 0x9e3779b97f4a7c15);
    }

    std::uint64_t next() override {
        const auto result = rotate(state_[1] * 5, 7) * 9;
        const auto t = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= t;
        state_[3] = rotate(state_[3], 45);
        return result;
    }

    /// 0 … n-1. (Slightly uneven for huge n; nobody here minds.)
    [[nodiscard]] std::uint64_t below(std::uint64_t n) { return next() % n; }
    [[nodiscard]] bool permille(std::uint64_t p) { return p != 0 && below(1000) < p; }
    [[nodiscard]] duration between(duration least, duration most) {
        const auto span = static_cast<std::uint64_t>((most - least).count());
        return least + duration{static_cast<duration::rep>(below(span + 1))};
    }
    template <class T, std::size_t N> [[nodiscard]] const T& one_of(const std::array<T, N>& all) {
        return all[below(N)];
    }

    [[nodiscard]] static std::uint64_t mix(std::uint64_t z) noexcept {
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }

private:
    [[nodiscard]] static std::uint64_t rotate(std::uint64_t x, int by) noexcept {
        return (x << by) | (x >> (64 - by));
    }
    std::array<std::uint64_t, 4> state_{};
};

} // namespace holdfast::models
