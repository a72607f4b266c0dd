#include "waiting/ascent.hpp"

#include <gtest/gtest.h>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;
using step = ascent::step;

constexpr instant start{1h};

TEST(climbing, goes_through_all_in_order_and_is_done) {
    ascent way{3, forever, start};
    EXPECT_EQ(way.next(), 0U);
    EXPECT_EQ(way.granted(true, start), step::ask);
    EXPECT_EQ(way.next(), 1U);
    EXPECT_EQ(way.granted(true, start), step::ask);
    EXPECT_EQ(way.granted(true, start + 24h), step::done);
    EXPECT_EQ(way.wait_left(start + 24h), forever);
}

TEST(climbing, shares_one_wait_among_all) {
    ascent way{2, 10s, start};
    EXPECT_EQ(way.wait_left(start), 10s);
    EXPECT_EQ(way.granted(true, start + 4s), step::ask);
    EXPECT_EQ(way.wait_left(start + 4s), 6s);
    EXPECT_EQ(way.wait_left(start + 11s), 0s);
}

TEST(climbing, begins_again_if_one_was_lost_on_the_way) {
    ascent way{3, 10s, start};
    EXPECT_EQ(way.granted(true, start), step::ask);
    EXPECT_EQ(way.granted(false, start + 1s), step::start_over);
    EXPECT_EQ(way.next(), 0U);
    EXPECT_EQ(way.granted(false, start + 10s), step::give_up) << "no time is left";
}

TEST(climbing, who_asks_once_does_not_begin_again) {
    ascent way{2, 0s, start};
    EXPECT_EQ(way.wait_left(start), 0s);
    EXPECT_EQ(way.granted(false, start), step::give_up);
}

} // namespace
} // namespace holdfast::detail
