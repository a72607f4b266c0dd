#pragma once

#include <holdfast/backend.hpp>

#include <algorithm>
#include <cstddef>

namespace holdfast::models {

/// Whether a claim fits beside one that holds already, permits not counted.
[[nodiscard]] inline bool fits_beside(const claim& holder, const claim& asks) {
    if (asks.mode == mode::shared)
        return holder.mode == mode::shared || (asks.within && *asks.within == holder.nonce);
    return asks.mode == mode::permit;
}

/// Whether a claim fits beside all of those, each of which says by whom it is held.
template <class Holders> [[nodiscard]] bool admits(const Holders& holders, const claim& asks) {
    if (asks.mode == mode::permit)
        return holders.size() < asks.permits;
    return std::all_of(
        holders.begin(), holders.end(), [&](const auto& h) { return fits_beside(*h.by, asks); });
}

} // namespace holdfast::models
