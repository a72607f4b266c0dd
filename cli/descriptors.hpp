#pragma once

// Letting go of what the command was given: a pipe must close when the command and its children
// have closed it, not when we end.

#include <vector>

namespace holdfast::cli {

/// All open descriptors above stderr: what whoever started us left open for the command.
[[nodiscard]] std::vector<int> inherited_descriptors();

/// Closes these, and puts /dev/null in the place of stdin and stdout. stderr stays for our
/// sentences.
void let_go(const std::vector<int>& inherited) noexcept;

/// Puts /dev/null in the place of a standard descriptor.
void silence(int descriptor) noexcept;

} // namespace holdfast::cli
