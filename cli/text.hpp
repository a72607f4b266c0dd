#pragma once

// Text that came from elsewhere (names, command lines, hosts), made fit for a terminal.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

/// The length of the well-formed UTF-8 character at `text[at]`; 0 if there is none.
[[nodiscard]] std::size_t utf8_length(std::string_view text, std::size_t at) noexcept;

/// The number of one well-formed character.
[[nodiscard]] char32_t code_point_of(std::string_view character) noexcept;

/// The same text with control characters and broken UTF-8 written as \n, \x1b, …: what a stranger
/// called a lock must not be able to move our cursor.
[[nodiscard]] std::string printable(std::string_view);

/// At most so many columns, with … where something was cut off. Wants printable text.
[[nodiscard]] std::string shortened(std::string_view, std::size_t columns);

/// How many columns it takes on a terminal: wide characters take two, combining ones none.
[[nodiscard]] std::size_t columns_of(std::string_view) noexcept;

/// Exactly so many columns: shortened, or filled with blanks.
[[nodiscard]] std::string fitted(std::string_view, std::size_t columns);

/// As backspace leaves it.
[[nodiscard]] std::string without_last_character(std::string_view);

/// In lines of at most so many columns, broken between words where that is possible.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view, std::size_t columns);

/// A command line as a human would have typed it; arguments with blanks are quoted.
[[nodiscard]] std::string command_line(const std::vector<std::string>& arguments);

/// A glob pattern that matches the name itself. It may match a few others: compare afterwards.
[[nodiscard]] std::string pattern_for(std::string_view name);

/// A URL as it may be shown: without its password.
[[nodiscard]] std::string without_password(std::string_view url);

/// The same in place: what `ps` shows of us is the very memory that argv points to.
void hide_password(char* argument);

} // namespace holdfast::cli
