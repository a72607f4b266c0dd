#pragma once

// Small words that the parts of the machine share.

#include "lease/validity.hpp"

#include <holdfast/backend.hpp>

#include <algorithm>
#include <cstddef>

namespace holdfast::quorum {

template <class Seats, class Which>
[[nodiscard]] std::size_t count(const Seats& seats, const Which& which) {
    return static_cast<std::size_t>(std::count_if(seats.begin(), seats.end(), which));
}

/// What we ask of our own accord, for no call of the core's.
[[nodiscard]] inline call by_ourselves(const claim& what, instant now) {
    return {ticket{}, now, detail::later(now, detail::request_limit(what.ttl))};
}

} // namespace holdfast::quorum
