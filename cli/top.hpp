#pragma once

#include "top_table.hpp"

#include <holdfast/clock.hpp>

#include <chrono>
#include <string>

namespace holdfast::cli {

struct top_options {
    std::string url;
    std::string pattern = "*";
    duration every = std::chrono::seconds{1};
    cli::order order = order::name;
    bool once = false;
};

/// `holdfast top`. Returns 0, or 128 + the signal that ended it.
[[nodiscard]] int top(const top_options&);

} // namespace holdfast::cli
