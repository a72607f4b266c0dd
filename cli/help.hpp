#pragma once

// What `--help` says: a page to read, set from the manual in lines of at most 90 columns.

#include "manual.hpp"

#include <string>

namespace holdfast::cli {

/// Of the program: what it is, and its verbs.
[[nodiscard]] std::string general_help();

/// Of one verb.
[[nodiscard]] std::string help_of(const manual::verb&);

} // namespace holdfast::cli
