#pragma once

// What several members see, told as one view. Pure.

#include <holdfast/backend.hpp>

#include <optional>
#include <vector>

namespace holdfast::quorum {

/// Who holds and who waits. A holder that fewer than `needed` members know of is remarked on: it is
/// about to take the lock, or to give it back, or has left something behind.
[[nodiscard]] std::vector<lock_info>
seen_together(const std::vector<std::optional<std::vector<lock_info>>>& by_member,
              std::size_t needed);

/// What is good and what is not: of the quorum itself, then of each member; worst first.
[[nodiscard]] std::vector<finding>
found_together(const std::vector<std::optional<std::vector<finding>>>& by_member,
               const capabilities&,
               std::size_t needed);

} // namespace holdfast::quorum
