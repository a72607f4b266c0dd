#pragma once

// What `holdfast doctor` found out, and how it is told to people and to programs.

#include <holdfast/capabilities.hpp>
#include <holdfast/clock.hpp>
#include <holdfast/inspect.hpp>

#include <string>
#include <vector>

namespace holdfast::cli {

/// A lock was taken and released to see whether that works.
struct probe {
    bool contended = false; ///< another doctor was quicker
    duration acquiring{};
    duration releasing{};
};

struct diagnosis {
    std::string url;
    holdfast::capabilities able;
    cli::probe probe;
    std::vector<finding> findings; ///< worst first
};

/// Adds what the probe and the guarantees tell to what the engine found; worst first, and a fix for
/// everything that is not good.
[[nodiscard]] diagnosis completed(diagnosis);

/// The worst of its findings.
[[nodiscard]] finding::grade overall(const diagnosis&) noexcept;

[[nodiscard]] std::string as_text(const diagnosis&);
[[nodiscard]] std::string as_json(const diagnosis&);

} // namespace holdfast::cli
