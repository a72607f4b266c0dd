#pragma once

// What happens to a client's locks, in the words of a log. Link holdfast::spdlog.

#include <holdfast/observer.hpp>

#include <memory>

namespace spdlog {
class logger;
}

namespace holdfast {

/// Losses and doubts are warnings and errors; what goes well is told at level debug.
[[nodiscard]] std::shared_ptr<observer> log_to(std::shared_ptr<spdlog::logger>);

} // namespace holdfast
