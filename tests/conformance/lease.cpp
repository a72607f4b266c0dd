// What a lease says, when it ends, and who is told.

#include "conformance/engine.hpp"
#include "conformance/events.hpp"
#include "conformance/undisturbed.hpp"
#include "promise.hpp"

#include <holdfast/mutex.hpp>

#include <atomic>
#include <stop_token>
#include <thread>
#include <utility>

namespace holdfast::conformance {
namespace {

HOLDFAST_SUITE(lease_conformance, nothing);

TEST_P(lease_conformance, a_lease_made_of_nothing_holds_nothing) {
    const lease none;
    EXPECT_FALSE(none);
    EXPECT_FALSE(none.held());
    EXPECT_FALSE(none.lost());
    EXPECT_EQ(none.remaining(), duration::zero());
    EXPECT_FALSE(none.fence());
    EXPECT_FALSE(none.stop_token().stop_requested());
}

TEST_P(lease_conformance, a_fresh_lease_is_held_for_at_most_its_ttl) {
    mutex orders{open(), "orders/42"};
    const auto asked = boot_clock::now();
    const auto lease = orders.acquire({.ttl = 20s});
    const auto answered = boot_clock::now();
    EXPECT_TRUE(lease);
    EXPECT_TRUE(lease.held());
    EXPECT_FALSE(lease.lost());
    EXPECT_GT(lease.deadline(), asked);
    EXPECT_LT(lease.deadline(), answered + 20s) << "counted from before the request was sent";
    EXPECT_GT(lease.remaining(), duration::zero());
    EXPECT_LE(lease.remaining(), lease.deadline() - asked);
    EXPECT_FALSE(lease.stop_token().stop_requested());
}

TEST_P(lease_conformance, a_released_lease_is_neither_held_nor_lost) {
    mutex orders{open(), "orders/42"};
    auto lease = orders.acquire();
    EXPECT_EQ(lease.release(), release_result::released);
    EXPECT_FALSE(lease.held());
    EXPECT_FALSE(lease.lost());
    EXPECT_EQ(lease.remaining(), duration::zero());
    EXPECT_TRUE(orders.try_acquire());
}

TEST_P(lease_conformance, releasing_twice_releases_once) {
    mutex orders{open(), "orders/42"};
    auto lease = orders.acquire();
    EXPECT_EQ(lease.release(), release_result::released);
    const auto next = orders.try_acquire();
    ASSERT_TRUE(next);
    EXPECT_EQ(error_of([&] { (void)lease.release(); }), code(errc::not_held));
    lease = {};
    EXPECT_TRUE(next->held());
    EXPECT_FALSE((mutex{open(), "orders/42"}.try_acquire()))
        << "what the next one holds is not ours";
}

TEST_P(lease_conformance, the_end_of_its_scope_releases_it) {
    mutex ours{open(), "orders/42"};
    mutex theirs{open(), "orders/42"};
    { const auto lease = ours.acquire(); }
    EXPECT_TRUE(theirs.try_acquire_for(patience));
}

TEST_P(lease_conformance, moving_moves_what_is_held) {
    mutex orders{open(), "orders/42"};
    auto first = orders.acquire();
    const auto fence = first.fence();
    auto second = std::move(first);
    EXPECT_FALSE(first); // NOLINT(bugprone-use-after-move): that is the promise
    EXPECT_FALSE(first.held());
    EXPECT_TRUE(second.held());
    EXPECT_EQ(second.fence(), fence);
    EXPECT_FALSE(orders.try_acquire());
}

TEST_P(lease_conformance, assigning_releases_what_was_held_before) {
    const auto client = open();
    auto lease = mutex{client, "first"}.acquire();
    lease = mutex{client, "second"}.acquire();
    EXPECT_EQ(lease.name(), "second");
    EXPECT_TRUE(lease.held());
    EXPECT_TRUE((mutex{client, "first"}.try_acquire()));
    EXPECT_FALSE((mutex{client, "second"}.try_acquire()));
}

TEST_P(lease_conformance, another_thread_may_release_it) {
    mutex orders{open(), "orders/42"};
    auto lease = orders.acquire();
    auto released = in_a_thread([moved = std::move(lease)]() mutable { return moved.release(); });
    EXPECT_EQ(outcome(released), release_result::released);
    EXPECT_TRUE(orders.try_acquire());
}

TEST_P(lease_conformance, it_outlives_its_mutex_and_its_client) {
    const auto other = open();
    EXPECT_TRUE(undisturbed(250ms, [&] {
        auto lease = mutex{open(), "orders/42"}.acquire({.ttl = 1s});
        const bool kept = !mutex{other, "orders/42"}.try_acquire_for(1500ms) && lease.held();
        return kept && lease.release() == release_result::released &&
               mutex{other, "orders/42"}.try_acquire();
    })) << "it is renewed as long as it lives";
}

TEST_P(lease_conformance, it_is_renewed_for_as_long_as_it_is_wanted) {
    mutex ours{open(), "orders/42"};
    mutex theirs{open(), "orders/42"};
    EXPECT_TRUE(undisturbed(250ms, [&] {
        const auto lease = ours.acquire({.wait = patience, .ttl = 1s});
        const auto first_deadline = lease.deadline();
        return !theirs.try_acquire_for(3500ms) && lease.held() && !lease.lost() &&
               !lease.stop_token().stop_requested() && lease.deadline() > first_deadline + 2s;
    }));
}

// ------------------------------------------------------------------------- ending without release

TEST_P(lease_conformance, an_explicit_lease_ends_after_its_ttl_and_the_next_gets_it) {
    mutex ours{open(), "orders/42"};
    mutex theirs{open(), "orders/42"};
    auto lease = ours.acquire({.ttl = 300ms, .renew = false});
    const auto deadline = lease.deadline();
    const auto next = theirs.try_acquire_for(patience);
    const auto granted = boot_clock::now();
    ASSERT_TRUE(next);
    EXPECT_FALSE(lease.held());
    EXPECT_TRUE(lease.lost());
    EXPECT_EQ(lease.remaining(), duration::zero());
    EXPECT_GE(granted, deadline) << "believe less than the engine does, never more";
    EXPECT_EQ(lease.deadline(), deadline) << "nothing prolonged it";
    EXPECT_EQ(lease.release(), release_result::lost);
    EXPECT_TRUE(next->held());
}

// Its place was renewed while it waited.
TEST_P(lease_conformance, an_explicit_lease_that_was_waited_for_ends_after_its_ttl_too) {
    const auto log = std::make_shared<chronicle>();
    mutex ours{open(), "orders/42"};
    mutex theirs{open({.observer = log}), "orders/42"};
    auto first = ours.acquire();
    auto waiter = in_a_thread([&] { return theirs.acquire({.ttl = 500ms, .renew = false}); });
    ASSERT_TRUE(log->saw(event::kind::waiting, "orders/42"));
    EXPECT_EQ(first.release(), release_result::released);
    const auto lease = outcome(waiter);
    EXPECT_TRUE(ours.try_acquire_for(patience));
    EXPECT_FALSE(lease.held()) << promise_broken;
}

TEST_P(lease_conformance, an_explicit_lease_is_released_like_any_other) {
    mutex ours{open(), "orders/42"};
    mutex theirs{open(), "orders/42"};
    auto lease = ours.acquire({.ttl = 30s, .renew = false});
    EXPECT_EQ(lease.release(), release_result::released);
    EXPECT_TRUE(theirs.try_acquire());
}

TEST_P(lease_conformance, max_hold_ends_it_though_it_is_renewed) {
    mutex ours{open(), "orders/42"};
    mutex theirs{open(), "orders/42"};
    happening lost;
    auto lease = ours.acquire({.ttl = 600ms, .max_hold = 900ms});
    const auto deadline = lease.deadline();
    lease.on_lost([&] { lost.happen(); });
    const auto next = theirs.try_acquire_for(patience);
    const auto granted = boot_clock::now();
    ASSERT_TRUE(next);
    EXPECT_TRUE(lost.awaited());
    EXPECT_FALSE(lease.held());
    EXPECT_TRUE(lease.lost());
    EXPECT_GE(granted, deadline);
    EXPECT_EQ(lease.release(), release_result::lost);
}

TEST_P(lease_conformance, a_short_max_hold_is_its_deadline) {
    mutex orders{open(), "orders/42"};
    const auto lease = orders.acquire({.ttl = 30s, .max_hold = 2s});
    EXPECT_LE(lease.deadline(), boot_clock::now() + 2s);
    EXPECT_TRUE(lease.held());
}

TEST_P(lease_conformance, the_stop_token_fires_while_there_is_still_time) {
    mutex orders{open(), "orders/42"};
    happening stopped, lost;
    std::atomic<bool> held_when_stopped{false}, lost_when_stopped{true};
    auto lease = orders.acquire({.ttl = 4s, .renew = false, .stop_margin = 3500ms});
    lease.on_lost([&] { lost.happen(); });
    const std::stop_callback callback{lease.stop_token(), [&] {
                                          held_when_stopped = lease.held();
                                          lost_when_stopped = lost.times() > 0;
                                          stopped.happen();
                                      }};
    ASSERT_TRUE(stopped.awaited());
    EXPECT_TRUE(held_when_stopped);
    EXPECT_FALSE(lost_when_stopped);
}

TEST_P(lease_conformance, the_stop_token_fires_before_a_short_max_hold) {
    mutex orders{open(), "orders/42"};
    happening stopped;
    std::atomic<bool> held_when_stopped{false};
    auto lease = orders.acquire({.ttl = 30s, .max_hold = 4s, .stop_margin = 3500ms});
    const std::stop_callback callback{lease.stop_token(), [&] {
                                          held_when_stopped = lease.held();
                                          stopped.happen();
                                      }};
    ASSERT_TRUE(stopped.awaited());
    EXPECT_TRUE(held_when_stopped);
}

TEST_P(lease_conformance, a_thread_can_work_until_the_stop_token_fires) {
    mutex orders{open(), "orders/42"};
    const auto lease = orders.acquire({.ttl = 500ms, .renew = false});
    std::mutex guard;
    std::condition_variable_any never_notified;
    std::unique_lock lock{guard};
    EXPECT_FALSE(never_notified.wait_for(lock, lease.stop_token(), patience, [] { return false; }));
    EXPECT_TRUE(lease.stop_token().stop_requested());
}

TEST_P(lease_conformance, on_lost_is_called_once_and_on_a_thread_of_the_client) {
    mutex orders{open(), "orders/42"};
    happening lost;
    std::atomic<std::thread::id> called_on{};
    auto lease = orders.acquire({.ttl = 300ms, .renew = false});
    lease.on_lost([&] {
        called_on = std::this_thread::get_id();
        lost.happen();
    });
    ASSERT_TRUE(lost.awaited());
    EXPECT_NE(called_on.load(), std::this_thread::get_id());
    EXPECT_TRUE(lease.lost());
    EXPECT_TRUE(lease.stop_token().stop_requested());
    EXPECT_EQ(lease.release(), release_result::lost);
    EXPECT_EQ(lost.times(), 1);
}

TEST_P(lease_conformance, on_lost_is_called_at_once_if_it_is_lost_already) {
    mutex orders{open(), "orders/42"};
    happening first, second;
    auto lease = orders.acquire({.ttl = 300ms, .renew = false});
    lease.on_lost([&] { first.happen(); });
    ASSERT_TRUE(first.awaited());
    lease.on_lost([&] { second.happen(); });
    EXPECT_TRUE(second.awaited());
    EXPECT_EQ(first.times(), 1);
}

TEST_P(lease_conformance, on_lost_is_not_called_for_what_was_released) {
    const auto client = open();
    happening lost;
    auto lease = mutex{client, "orders/42"}.acquire({.ttl = 3s});
    lease.on_lost([&] { lost.happen(); });
    EXPECT_EQ(lease.release(), release_result::released);
    client.close(); // everything that was to be said has been said after this
    EXPECT_EQ(lost.times(), 0);
}

TEST_P(lease_conformance, a_slow_handler_of_on_lost_costs_nobody_a_lease) {
    const auto other = open();
    EXPECT_TRUE(undisturbed(250ms, [&] {
        const auto client = open();
        happening began, may_end;
        const auto kept = mutex{client, "kept"}.acquire({.ttl = 1s});
        auto ending = mutex{client, "ending"}.acquire({.ttl = 300ms, .renew = false});
        ending.on_lost([&] {
            began.happen();
            EXPECT_TRUE(may_end.awaited());
        });
        const bool still =
            began.awaited() && !mutex{other, "kept"}.try_acquire_for(1500ms) && kept.held();
        may_end.happen();
        return still;
    }));
}

TEST_P(lease_conformance, a_lost_lease_does_not_disturb_the_next_one) {
    mutex orders{open(), "orders/42"};
    auto first = orders.acquire({.ttl = 300ms, .renew = false});
    auto second = orders.try_acquire_for(patience, {.ttl = 30s});
    ASSERT_TRUE(second);
    first = {}; // queues a release, if it is a fool
    EXPECT_TRUE(second->held());
    EXPECT_FALSE((mutex{open(), "orders/42"}.try_acquire()));
    EXPECT_EQ(second->release(), release_result::released);
}

} // namespace
} // namespace holdfast::conformance
