#pragma once

#include <cstddef>
#include <functional>

namespace bench {

/// What a process has and uses.
struct footprint {
    double heap = 0;     ///< bytes that malloc has given out
    double resident = 0; ///< bytes of memory
    double cpu_ns = 0;   ///< since its start
    [[nodiscard]] static footprint now();
};

/// Runs in a child of its own, whose memory nobody has used before; its figures come back.
void in_a_child(const std::function<void(double* figures)>&, double* figures, std::size_t count);

} // namespace bench
