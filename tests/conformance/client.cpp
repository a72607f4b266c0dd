// A client from opening to closing, and what an observer is told on the way.

#include "conformance/engine.hpp"
#include "conformance/events.hpp"
#include "conformance/undisturbed.hpp"

#include <holdfast/mutex.hpp>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

namespace holdfast::conformance {
namespace {

HOLDFAST_SUITE(client_conformance, nothing);

TEST_P(client_conformance, copies_are_the_same_client) {
    const auto client = open();
    const auto copy = client;
    const auto lease = mutex{client, "orders/42"}.acquire();
    EXPECT_FALSE((mutex{copy, "orders/42"}.try_acquire()));
    EXPECT_EQ(&client.capabilities(), &copy.capabilities());
}

TEST_P(client_conformance, closing_sends_what_is_still_queued) {
    const auto client = open();
    const auto other = open();
    for (int i = 0; i < 50; ++i)
        (void)mutex{client, "item/" + std::to_string(i)}.acquire({.ttl = 10min});
    client.close();
    for (int i = 0; i < 50; ++i)
        EXPECT_TRUE((mutex{other, "item/" + std::to_string(i)}.try_acquire())) << i;
}

TEST_P(client_conformance, closing_ends_all_that_it_holds) {
    const auto client = open();
    const auto other = open();
    auto lease = mutex{client, "orders/42"}.acquire({.ttl = 10min});
    client.close();
    EXPECT_FALSE(lease.held());
    EXPECT_TRUE((mutex{other, "orders/42"}.try_acquire()));
    lease = {};
}

TEST_P(client_conformance, a_closed_client_refuses_everything) {
    const auto client = open();
    mutex orders{client, "orders/42"};
    client.close();
    client.close();
    EXPECT_EQ(error_of([&] { (void)orders.acquire(); }), code(errc::unsupported));
    EXPECT_EQ(error_of([&] { (void)orders.try_acquire(); }), code(errc::unsupported));
    EXPECT_EQ(error_of([&] { orders.lock(); }), code(errc::unsupported));
    EXPECT_EQ(error_of([&] { (void)client.inspect(); }), code(errc::unsupported));
    EXPECT_EQ(error_of([&] { (void)client.force_release("orders/42"); }), code(errc::unsupported));
}

TEST_P(client_conformance, closing_ends_those_who_wait) {
    const auto log = std::make_shared<chronicle>();
    const auto client = open({.observer = log});
    const auto other = open();
    auto held = mutex{other, "orders/42"}.acquire();
    auto waiter = in_a_thread([&] {
        return error_of([&] { (void)mutex{client, "orders/42"}.acquire(); });
    });
    ASSERT_TRUE(log->saw(event::kind::waiting, "orders/42"));
    client.close();
    EXPECT_EQ(outcome(waiter), code(errc::cancelled));
    EXPECT_TRUE(other.inspect("orders/42").at(0).waiters.empty());
    EXPECT_TRUE(held.held());
}

TEST_P(client_conformance, the_last_handle_flushes_before_it_goes) {
    const auto other = open();
    for (int i = 0; i < 10; ++i) {
        { const auto lease = mutex{open(), "orders/42"}.acquire({.ttl = 10min}); }
        EXPECT_TRUE((mutex{other, "orders/42"}.try_acquire())) << "in round " << i;
    }
}

TEST_P(client_conformance, a_handler_may_drop_the_last_handle) {
    const auto other = open();
    happening lost;
    struct belongings {
        client last;
        lease held;
    };
    auto ours = std::make_shared<std::optional<belongings>>(std::in_place, open(), lease{});
    (*ours)->held = mutex{(*ours)->last, "orders/42"}.acquire({.ttl = 300ms, .renew = false});
    (*ours)->held.on_lost([&lost, ours] {
        ours->reset();
        lost.happen();
    });
    ASSERT_TRUE(lost.awaited());
    EXPECT_TRUE((mutex{other, "orders/42"}.try_acquire_for(patience)));
}

TEST_P(client_conformance, many_clients_come_and_go) {
    std::atomic<int> held{0};
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t)
            threads.emplace_back([&] {
                for (int i = 0; i < 10; ++i)
                    held += mutex{open(), "orders/42"}.acquire().held() ? 1 : 0;
            });
    }
    EXPECT_EQ(held, 40);
    EXPECT_TRUE(open().inspect().empty());
}

TEST_P(client_conformance, a_close_that_cannot_wait_leaves_nobody_waiting) {
    for (int round = 0; round < 20; ++round) {
        const auto client = open();
        // What cannot be given back any more is in the way of the next round for so long.
        constexpr acquire_options soon{.ttl = 2s};
        auto one = mutex{client, "a"}.acquire(soon), two = mutex{client, "b"}.acquire(soon);
        auto releasing = in_a_thread([&] { return one.release(); });
        auto waiting = in_a_thread([&] {
            return error_of([&] { (void)mutex{client, "b"}.acquire(soon); });
        });
        client.close(0s);
        (void)outcome(releasing); // whatever it says, it says something
        (void)outcome(waiting);
        EXPECT_FALSE(two.held());
        EXPECT_TRUE(two.stop_token().stop_requested() ||
                    eventually([&] { return two.stop_token().stop_requested(); }));
    }
    EXPECT_TRUE((mutex{open(), "b"}.try_acquire_for(patience)));
}

// ------------------------------------------------------------------------------------ observer

TEST_P(client_conformance, an_observer_hears_of_a_lease_from_grant_to_release) {
    const auto log = std::make_shared<chronicle>();
    const auto client = open({.observer = log});
    auto lease = mutex{client, "orders/42"}.acquire();
    const auto fence = lease.fence();
    EXPECT_EQ(lease.release(), release_result::released);
    ASSERT_TRUE(log->saw(event::kind::released, "orders/42"));
    const auto heard = log->of("orders/42");
    ASSERT_EQ(heard.size(), 2U);
    EXPECT_EQ(heard[0].what, event::kind::granted);
    EXPECT_EQ(heard[0].fence, fence);
    EXPECT_EQ(heard[1].what, event::kind::released);
}

TEST_P(client_conformance, an_observer_hears_of_waiting_giving_up_and_losing) {
    const auto log = std::make_shared<chronicle>();
    const auto client = open({.observer = log});
    const auto held = mutex{open(), "theirs"}.acquire();
    EXPECT_FALSE((mutex{client, "theirs"}.try_acquire_for(a_while)));
    EXPECT_TRUE(log->saw(event::kind::waiting, "theirs"));
    EXPECT_TRUE(log->saw(event::kind::withdrawn, "theirs"));
    const auto lease = mutex{client, "ours"}.acquire({.ttl = 200ms, .renew = false});
    EXPECT_TRUE(log->saw(event::kind::lost, "ours"));
    EXPECT_EQ(log->times(event::kind::lost, "ours"), 1);
}

// Slow, and never called by two threads at once.
struct slow_observer : observer {
    std::atomic<int> inside{0}, most{0};
    happening blocked, may_go;
    void on(const event&) override {
        most = std::max(most.load(), ++inside);
        blocked.happen();
        (void)may_go.awaited();
        --inside;
    }
};

TEST_P(client_conformance, a_slow_observer_costs_nobody_a_lease) {
    const auto other = open();
    EXPECT_TRUE(undisturbed(250ms, [&] {
        const auto slow = std::make_shared<slow_observer>();
        const auto client = open({.observer = slow});
        const auto lease = mutex{client, "orders/42"}.acquire({.wait = patience, .ttl = 1s});
        const bool kept = slow->blocked.awaited() &&
                          !mutex{other, "orders/42"}.try_acquire_for(1500ms) && lease.held();
        slow->may_go.happen();
        return kept && slow->most == 1;
    }));
}

} // namespace
} // namespace holdfast::conformance
