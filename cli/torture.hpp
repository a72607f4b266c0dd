#pragma once

#include "inspecting.hpp"

#include <holdfast/clock.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace holdfast::cli {

struct torture_options {
    std::string url; ///< empty: the default
    duration length = std::chrono::seconds{30};
    std::uint32_t workers = 4;
    duration ttl = std::chrono::seconds{1};
    std::optional<std::uint64_t> seed;
    cli::format format = format::text;
};

/// `holdfast torture [URL]`. 0: nothing wrong; 1: something; 130: interrupted, nothing wrong so
/// far.
[[nodiscard]] int torture(const torture_options&);

} // namespace holdfast::cli
