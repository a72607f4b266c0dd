#pragma once

#include <cstddef>

namespace holdfast::cli {

/// How many columns a terminal gives to a character: 2 for East Asian scripts and pictures, 0 for
/// what is drawn upon its neighbour. Our own table: wcwidth() depends on the locale, which is "C"
/// where cron starts us.
[[nodiscard]] std::size_t width_of_character(char32_t) noexcept;

} // namespace holdfast::cli
