#pragma once

#include <string>

namespace holdfast::cli {

/// The manual as roff with the man macros: `holdfast man | man -l -`.
[[nodiscard]] std::string man_page();

} // namespace holdfast::cli
