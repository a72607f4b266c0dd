// Numbers that only grow: the one thing a protected resource can check by itself.

#include "conformance/engine.hpp"
#include "conformance/events.hpp"
#include "conformance/undisturbed.hpp"
#include "promise.hpp"

#include <holdfast/mutex.hpp>

#include <algorithm>
#include <thread>
#include <vector>

namespace holdfast::conformance {
namespace {

HOLDFAST_SUITE(fence_conformance, fences);

[[nodiscard]] bool strictly_growing(const std::vector<fence>& numbers) {
    return std::adjacent_find(numbers.begin(), numbers.end(), std::greater_equal<>{}) ==
           numbers.end();
}

TEST_P(fence_conformance, every_lease_has_one) {
    const auto lease = mutex{open(), "orders/42"}.acquire();
    EXPECT_TRUE(lease.fence());
    EXPECT_GT(lease.fence().value(), 0);
}

TEST_P(fence_conformance, it_grows_with_each_release_and_acquire) {
    mutex orders{open(), "orders/42"};
    std::vector<fence> seen;
    for (int i = 0; i < 300; ++i)
        seen.push_back(orders.acquire().fence());
    EXPECT_TRUE(strictly_growing(seen)) << promise_broken;
}

TEST_P(fence_conformance, it_grows_from_client_to_client) {
    std::vector<fence> seen;
    for (int i = 0; i < 20; ++i) {
        auto lease = mutex{open(), "orders/42"}.acquire();
        seen.push_back(lease.fence());
        EXPECT_EQ(lease.release(), release_result::released);
    }
    EXPECT_TRUE(strictly_growing(seen)) << promise_broken;
}

TEST_P(fence_conformance, it_grows_when_a_lease_is_lost) {
    mutex ours{open(), "orders/42"};
    mutex theirs{open(), "orders/42"};
    const auto lost = ours.acquire({.ttl = 200ms, .renew = false});
    const auto next = theirs.acquire({.wait = patience});
    EXPECT_GT(next.fence(), lost.fence()) << promise_broken;
}

TEST_P(fence_conformance, it_grows_when_a_lease_is_taken_away) {
    const auto client = open();
    mutex orders{client, "orders/42"};
    const auto taken = orders.acquire();
    EXPECT_EQ(open().force_release("orders/42"), 1U);
    EXPECT_GT((mutex{open(), "orders/42"}.acquire().fence()), taken.fence()) << promise_broken;
}

TEST_P(fence_conformance, it_goes_on_growing_when_nobody_was_there_for_a_while) {
    fence before;
    {
        auto lease = mutex{open(), "orders/42"}.acquire();
        before = lease.fence();
        EXPECT_EQ(lease.release(), release_result::released);
    }
    EXPECT_TRUE(open().inspect("orders/42").empty());
    EXPECT_GT((mutex{open(), "orders/42"}.acquire().fence()), before) << promise_broken;
}

TEST_P(fence_conformance, it_stays_the_same_while_a_lease_is_renewed) {
    mutex ours{open(), "orders/42"};
    mutex theirs{open(), "orders/42"};
    EXPECT_TRUE(undisturbed(250ms, [&] {
        const auto lease = ours.acquire({.wait = patience, .ttl = 1s});
        const auto fence = lease.fence();
        return !theirs.try_acquire_for(1500ms) && lease.held() && lease.fence() == fence;
    }));
}

TEST_P(fence_conformance, no_holder_sees_a_number_below_the_one_before) {
    std::vector<mutex> doors;
    for (int i = 0; i < 3; ++i) {
        const auto client = open();
        for (int k = 0; k < 2; ++k)
            doors.emplace_back(client, "orders/42");
    }
    std::vector<fence> seen; // guarded by the lock under test
    {
        std::vector<std::jthread> threads;
        for (auto& door : doors)
            threads.emplace_back([&] {
                for (int i = 0; i < 40; ++i) {
                    const auto lease = door.acquire();
                    seen.push_back(lease.fence());
                }
            });
    }
    EXPECT_EQ(seen.size(), 240U);
    EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end())) << promise_broken;
}

HOLDFAST_SUITE(passing_conformance, fences_per_pass);

TEST_P(passing_conformance, a_lease_handed_on_inside_one_client_has_a_larger_fence) {
    const auto log = std::make_shared<chronicle>();
    const auto client = open({.observer = log});
    std::vector<fence> seen; // guarded by the lock under test
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 6; ++t)
            threads.emplace_back([&] {
                mutex door{client, "orders/42"};
                for (int i = 0; i < 100; ++i) {
                    const auto lease = door.acquire();
                    seen.push_back(lease.fence());
                    std::this_thread::yield();
                }
            });
    }
    EXPECT_EQ(seen.size(), 600U);
    EXPECT_TRUE(strictly_growing(seen)) << promise_broken;
    client.close();
    EXPECT_GT(log->times(event::kind::passed, "orders/42"), 0) << "this test has seen no pass";
}

// Passing is bounded: the other client is not kept out for ever by those who are already inside.
TEST_P(passing_conformance, those_inside_do_not_keep_others_out) {
    const auto busy = open();
    const auto other = open();
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t)
        threads.emplace_back([&](const std::stop_token& stop) {
            mutex door{busy, "orders/42"};
            while (!stop.stop_requested())
                (void)door.acquire();
        });
    mutex door{other, "orders/42"};
    for (int i = 0; i < 10; ++i)
        EXPECT_TRUE(door.try_acquire_for(patience));
}

} // namespace
} // namespace holdfast::conformance
