#pragma once

#include <chrono>

namespace holdfast {

/// The clock every deadline is counted on: CLOCK_BOOTTIME.
///
/// Unlike std::chrono::steady_clock it goes on while the machine is suspended, so a lease
/// does not stay "valid" through a closed laptop lid. All processes of one machine share it.
struct boot_clock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<boot_clock>;
    static constexpr bool is_steady = true;

    [[nodiscard]] static time_point now() noexcept;
};

using duration = boot_clock::duration;
using instant = boot_clock::time_point;

/// As a waiting time: wait until it is granted. As an instant: never.
inline constexpr duration forever = duration::max();
inline constexpr instant never = instant::max();

} // namespace holdfast
