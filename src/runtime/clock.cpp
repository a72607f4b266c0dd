#include <holdfast/clock.hpp>

#include <ctime>

namespace holdfast {

boot_clock::time_point boot_clock::now() noexcept {
    timespec ts{};
    ::clock_gettime(CLOCK_BOOTTIME, &ts);
    return time_point{std::chrono::seconds{ts.tv_sec} + std::chrono::nanoseconds{ts.tv_nsec}};
}

} // namespace holdfast
