#include <holdfast/clock.hpp>

#include <gtest/gtest.h>

#include <ctime>

namespace holdfast {
namespace {

TEST(clocks, the_boot_clock_is_the_kernels_boottime) {
    timespec before{}, after{};
    ::clock_gettime(CLOCK_BOOTTIME, &before);
    const auto now = boot_clock::now().time_since_epoch();
    ::clock_gettime(CLOCK_BOOTTIME, &after);
    const auto ns = [](const timespec& t) {
        return std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec};
    };
    EXPECT_LE(ns(before), now);
    EXPECT_LE(now, ns(after));
}

} // namespace
} // namespace holdfast
