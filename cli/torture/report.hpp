#pragma once

#include "verdict.hpp"

#include <string>

namespace holdfast::cli::ordeal {

/// The verdict in one sentence, the first violation with its history, and the figures.
[[nodiscard]] std::string as_text(const evidence&, const verdict&);

/// One object.
[[nodiscard]] std::string as_json(const evidence&, const verdict&);

} // namespace holdfast::cli::ordeal
