// The engine itself cannot work for a while.

#include "conformance/engine.hpp"
#include "conformance/events.hpp"
#include "conformance/undisturbed.hpp"

#include <holdfast/mutex.hpp>

namespace holdfast::conformance {
namespace {

HOLDFAST_SUITE(failing_conformance, failing);

/// Unknown, if the request was on its way before anybody knew, or we heard too late.
[[nodiscard]] bool says_it_is_away(const std::error_code& said) {
    return said == errc::backend_unavailable || said == errc::outcome_unknown;
}

TEST_P(failing_conformance, asking_once_says_that_the_engine_is_away) {
    const auto client = open();
    mutex orders{client, "orders/42"};
    here().fail();
    EXPECT_TRUE(says_it_is_away(error_of([&] { (void)orders.try_acquire({.ttl = 1s}); })));
    EXPECT_EQ(error_of([&] { (void)client.force_release("orders/42"); }),
              code(errc::backend_unavailable));
    here().recover();
    EXPECT_TRUE(orders.try_acquire_for(patience));
}

TEST_P(failing_conformance, a_wait_that_ends_meanwhile_says_that_the_engine_is_away) {
    mutex orders{open(), "orders/42"};
    here().fail();
    const auto begun = boot_clock::now();
    EXPECT_TRUE(
        says_it_is_away(error_of([&] { (void)orders.acquire({.wait = 300ms, .ttl = 1s}); })));
    EXPECT_GE(boot_clock::now() - begun, 300ms) << "it may come back any moment";
    EXPECT_TRUE(
        says_it_is_away(error_of([&] { (void)orders.try_acquire_for(300ms, {.ttl = 1s}); })));
}

TEST_P(failing_conformance, whoever_waits_on_is_served_when_it_comes_back) {
    const auto client = open();
    here().fail();
    auto waiter = in_a_thread([&] {
        return mutex{client, "orders/42"}.acquire({.ttl = 2s}).held();
    });
    EXPECT_TRUE(says_it_is_away(error_of([&] {
        (void)mutex{client, "other"}.try_acquire({.ttl = 1s});
    })));
    here().recover();
    EXPECT_TRUE(outcome(waiter));
}

TEST_P(failing_conformance, a_lease_is_held_until_its_deadline_and_then_lost) {
    const auto client = open();
    happening lost, stopped;
    auto lease = mutex{client, "orders/42"}.acquire({.ttl = 4s, .stop_margin = 2s});
    lease.on_lost([&] { lost.happen(); });
    const std::stop_callback callback{lease.stop_token(), [&] { stopped.happen(); }};
    here().fail();
    const auto deadline = lease.deadline();
    EXPECT_TRUE(lease.held()) << "an engine that is away takes nothing from us";
    ASSERT_TRUE(stopped.awaited());
    ASSERT_TRUE(lost.awaited());
    EXPECT_GE(boot_clock::now(), deadline);
    EXPECT_FALSE(lease.held());
    here().recover();
    EXPECT_TRUE((mutex{client, "orders/42"}.try_acquire_for(patience)));
    EXPECT_FALSE(lease.held()) << "lost is lost";
}

TEST_P(failing_conformance, a_short_failure_costs_nothing) {
    mutex orders{open(), "orders/42"};
    mutex other{open(), "other"};
    EXPECT_TRUE(undisturbed(500ms, [&] {
        const auto lease = orders.acquire({.wait = patience, .ttl = 3s});
        const auto deadline = lease.deadline();
        here().fail();
        EXPECT_TRUE(says_it_is_away(error_of([&] { (void)other.try_acquire({.ttl = 1s}); })));
        here().recover();
        EXPECT_TRUE(eventually([&] { return lease.deadline() > deadline || lease.lost(); }));
        return lease.held();
    }));
}

TEST_P(failing_conformance, what_was_dropped_meanwhile_is_free_when_it_comes_back) {
    const auto client = open();
    const auto other = open();
    {
        const auto lease = mutex{client, "orders/42"}.acquire({.ttl = 10min});
        here().fail();
    }
    here().recover();
    EXPECT_TRUE((mutex{other, "orders/42"}.try_acquire_for(patience)));
}

} // namespace
} // namespace holdfast::conformance
