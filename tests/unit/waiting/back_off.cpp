#include "waiting/talk.hpp"

#include <gtest/gtest.h>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;

struct fixed_chance final : random_source {
    explicit fixed_chance(std::uint64_t v) : value{v} {}
    std::uint64_t next() override { return value; }
    std::uint64_t value;
};

TEST(backing_off, doubles_from_10_ms_to_1_s_and_begins_again_after_a_reset) {
    fixed_chance none{0};
    auto pause = after_failures();
    for (const duration expected : {10ms, 20ms, 40ms, 80ms, 160ms, 320ms, 640ms, 1000ms, 1000ms})
        EXPECT_EQ(pause.next(none), expected);
    pause.reset();
    EXPECT_EQ(pause.next(none), 10ms);
}

TEST(backing_off, is_shortened_by_chance_by_at_most_a_half) {
    for (std::uint64_t v = 1; v < 1'000'000'000'000; v = v * 7 + 3) {
        fixed_chance some{v};
        auto pause = after_failures();
        const auto p = pause.next(some);
        EXPECT_GE(p, 5ms);
        EXPECT_LE(p, 10ms);
    }
}

} // namespace
} // namespace holdfast::detail
