#include "runtime/lane.hpp"

#include <gtest/gtest.h>

#include <future>
#include <vector>

namespace holdfast::detail {
namespace {

TEST(lane, runs_tasks_in_order_on_a_thread_of_its_own) {
    std::vector<int> ran;
    std::thread::id where;
    {
        lane l;
        for (int i = 0; i < 100; ++i)
            l.post([&, i] {
                ran.push_back(i);
                where = std::this_thread::get_id();
            });
    } // runs what is queued, then ends
    ASSERT_EQ(ran.size(), 100U);
    for (int i = 0; i < 100; ++i)
        EXPECT_EQ(ran[static_cast<std::size_t>(i)], i);
    EXPECT_NE(where, std::this_thread::get_id());
}

TEST(lane, drops_what_a_task_captured_before_the_next_task) {
    lane l;
    auto captured = std::make_shared<int>(1);
    std::weak_ptr<int> seen = captured;
    std::promise<bool> gone;
    l.post([c = std::move(captured)] {});
    l.post([&] { gone.set_value(seen.expired()); });
    EXPECT_TRUE(gone.get_future().get());
}

TEST(lane, knows_its_own_thread) {
    lane l;
    std::promise<bool> inside;
    l.post([&] { inside.set_value(l.is_this_thread()); });
    EXPECT_TRUE(inside.get_future().get());
    EXPECT_FALSE(l.is_this_thread());
}

} // namespace
} // namespace holdfast::detail
