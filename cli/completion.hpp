#pragma once

// What a shell needs to complete the words after `holdfast`, made from the manual.
//
// All three know where the command of `run` begins, as arguments.cpp does: after NAME, at the first
// word that is no option, or after "--". Names of locks come from `holdfast ls --names`, on the
// engine that -u names, and never take longer than two seconds.

#include <string>
#include <string_view>

namespace holdfast::cli {

[[nodiscard]] std::string completion_for_bash();
[[nodiscard]] std::string completion_for_zsh();
[[nodiscard]] std::string completion_for_fish();

/// For one of the shells that the manual names.
[[nodiscard]] std::string completion_for(std::string_view shell);

/// Between single quotes, as all three understand them as long as there is no backslash.
[[nodiscard]] std::string shell_quoted(std::string_view);

/// The text with the beginnings of all URLs where @URLS@ stands.
[[nodiscard]] std::string with_urls(std::string_view text);

} // namespace holdfast::cli
