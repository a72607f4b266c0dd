#include "lease/hold.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;

constexpr instant start{1h};

[[nodiscard]] std::shared_ptr<hold> held_until(instant deadline) {
    auto h = std::make_shared<hold>();
    h->bond = std::make_shared<bond_belief>();
    h->bond->deadline = deadline.time_since_epoch().count();
    return h;
}

TEST(leases, are_held_until_their_deadline_whoever_has_noticed_it_or_not) {
    const auto h = held_until(start + 10s);
    EXPECT_TRUE(h->held_at(start + 10s - 1ns));
    EXPECT_FALSE(h->held_at(start + 10s));
    EXPECT_TRUE(h->lost_at(start + 10s)) << "a computation, not a flag";
}

TEST(leases, end_at_the_earlier_of_the_bonds_deadline_and_their_own_limit) {
    const auto h = held_until(start + 10s);
    h->until = (start + 5s).time_since_epoch().count();
    EXPECT_EQ(h->deadline(), start + 5s);
    EXPECT_FALSE(h->held_at(start + 5s));
    h->until = (start + 20s).time_since_epoch().count();
    EXPECT_EQ(h->deadline(), start + 10s);
}

TEST(leases, are_lost_with_their_bond) {
    const auto h = held_until(start + 10s);
    h->bond->lost = true;
    EXPECT_FALSE(h->held_at(start));
    EXPECT_TRUE(h->lost_at(start));
}

TEST(leases, that_were_released_are_neither_held_nor_lost) {
    const auto h = held_until(start + 10s);
    h->ended = ending::released;
    EXPECT_FALSE(h->held_at(start));
    EXPECT_FALSE(h->lost_at(start + 1h));
}

TEST(leases, ask_the_work_to_stop_once_and_whoever_comes_later_too) {
    const auto h = held_until(start + 10s);
    const auto early = h->token();
    EXPECT_FALSE(early.stop_requested());
    h->request_stop();
    EXPECT_TRUE(early.stop_requested());
    EXPECT_TRUE(h->token().stop_requested());
}

TEST(leases, report_their_loss_once_and_take_no_listener_after_it) {
    const auto h = held_until(start + 10s);
    int heard = 0;
    EXPECT_TRUE(h->call_when_lost([&] { ++heard; }));
    h->report_lost();
    h->report_lost();
    EXPECT_EQ(heard, 1);
    EXPECT_FALSE(h->call_when_lost([&] { ++heard; })) << "the caller sees to it";
    EXPECT_EQ(heard, 1);
    EXPECT_TRUE(h->token().stop_requested());
}

} // namespace
} // namespace holdfast::detail
