#pragma once

// Starts the workers, does to them what the schedule says, keeps the vault, and in the end collects
// what they wrote down.

#include "evidence.hpp"

#include <string>

namespace holdfast::cli::ordeal {

struct run_settings {
    std::string url;
    duration length{};
    duration ttl{};
    std::uint32_t workers = 4;
    std::uint64_t seed = 0;
};

/// Throws std::system_error if the engine cannot be used for this at all.
[[nodiscard]] evidence conduct(const run_settings&);

} // namespace holdfast::cli::ordeal
