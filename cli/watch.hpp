#pragma once

#include "inspecting.hpp"

#include <holdfast/clock.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace holdfast::cli {

struct watch_options {
    std::string url;
    std::string pattern;
    cli::format format = format::text;
    duration every = std::chrono::milliseconds{200};
    std::optional<duration> time; ///< nothing: until a signal comes
};

/// `holdfast watch NAME`. Returns 0 when it was interrupted, its time is over, or its reader gone.
[[nodiscard]] int watch(const watch_options&);

} // namespace holdfast::cli
