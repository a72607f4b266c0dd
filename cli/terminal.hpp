#pragma once

// What we may assume of the terminal, and the two ways out: a text on stdout, a colour in it.

#include <string>
#include <string_view>

namespace holdfast::cli {

enum class colour { plain, bold, dim, green, yellow, red };

/// The text in this colour if `descriptor` is a terminal that is not dumb, and NO_COLOR is not set;
/// else as it is.
[[nodiscard]] std::string in(colour, std::string_view text, int descriptor = 1);

[[nodiscard]] bool is_terminal(int descriptor) noexcept;

/// A terminal, and not a dumb one: a line can be written anew.
[[nodiscard]] bool can_move_cursor(int descriptor) noexcept;

/// A terminal whose foreground we belong to: we may write a line there without disturbing anybody.
[[nodiscard]] bool in_foreground_of(int descriptor) noexcept;

/// Its width, or 80.
[[nodiscard]] std::size_t width_of(int descriptor) noexcept;

/// All of it to stdout, or std::system_error: half an answer must not look like an answer.
void print(std::string_view text);

/// To stderr, unless that would have to wait: a reader that does not read, or a terminal that was
/// stopped with ^S, must not hold up whoever holds a lock.
void tell(std::string_view text) noexcept;

/// Programs are sometimes started without stdin, stdout or stderr. A database must not become
/// descriptor 2, so /dev/null takes the empty seats.
void seat_standard_descriptors() noexcept;

} // namespace holdfast::cli
