#pragma once

// Worlds in which something once went wrong, replayed in every run. A seed means what it meant only
// as long as the simulation draws its chances in the same order, so each has a unit test beside it,
// too.

#include <cstdint>

namespace holdfast::simulation {

struct regression {
    std::uint64_t seed;
    const char* what;
};

inline constexpr regression regressions[] = {
    {903, "a write was passed on beside a reading under it"},
};

} // namespace holdfast::simulation
