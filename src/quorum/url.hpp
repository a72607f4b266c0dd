#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace holdfast::quorum {

struct url_parts {
    bool strong = false;
    std::vector<std::string_view> members; ///< a URL each
};

/// What follows "quorum:". A comma separates two members only if a known scheme and a colon come
/// after it, because host lists and paths have commas too. Throws bad_option with one sentence.
[[nodiscard]] url_parts read_url(std::string_view);

/// Throws bad_option with one sentence unless so many can form a quorum.
void check_count(std::size_t members);

} // namespace holdfast::quorum
