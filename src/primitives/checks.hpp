#pragma once

#include <holdfast/options.hpp>

namespace holdfast::detail {

/// One sentence, or null if the options make sense.
[[nodiscard]] const char* what_is_wrong_with(const acquire_options&) noexcept;

} // namespace holdfast::detail
