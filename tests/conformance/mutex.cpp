// One holder at a time, for threads of one client and for several clients; asking, waiting, giving
// up.

#include "conformance/engine.hpp"
#include "conformance/events.hpp"
#include "promise.hpp"

#include <holdfast/mutex.hpp>

#include <array>
#include <atomic>
#include <csignal>
#include <optional>
#include <pthread.h>
#include <random>
#include <thread>
#include <vector>

namespace holdfast::conformance {
namespace {

HOLDFAST_SUITE(mutex_conformance, nothing);

TEST_P(mutex_conformance, a_free_lock_is_granted_at_once) {
    mutex orders{open(), "orders/42"};
    const auto lease = orders.try_acquire();
    ASSERT_TRUE(lease);
    EXPECT_TRUE(lease->held());
    EXPECT_EQ(lease->name(), "orders/42");
    EXPECT_EQ(orders.name(), "orders/42");
}

TEST_P(mutex_conformance, a_held_lock_is_contended_for_another_client) {
    mutex ours{open(), "orders/42"};
    mutex theirs{open(), "orders/42"};
    const auto lease = ours.acquire();
    EXPECT_FALSE(theirs.try_acquire());
    EXPECT_FALSE(theirs.try_lock());
    EXPECT_TRUE(lease.held());
}

TEST_P(mutex_conformance, a_held_lock_is_contended_for_the_same_client) {
    const auto client = open();
    mutex orders{client, "orders/42"};
    mutex again{client, "orders/42"};
    const auto lease = orders.acquire();
    EXPECT_FALSE(orders.try_acquire()) << "a lease belongs to nobody's thread";
    EXPECT_FALSE(again.try_acquire());
    EXPECT_FALSE(again.try_acquire_for(a_while));
}

TEST_P(mutex_conformance, names_do_not_touch_each_other) {
    const auto client = open();
    const auto first = mutex{client, "orders/42"}.acquire();
    const auto second = mutex{client, "orders/43"}.try_acquire();
    const auto inside = mutex{client, "orders"}.try_acquire();
    EXPECT_TRUE(first.held());
    EXPECT_TRUE(second);
    EXPECT_TRUE(inside);
}

TEST_P(mutex_conformance, claims_of_different_shape_exclude_each_other) {
    const auto client = open();
    mutex orders{client, "orders/42"};
    const auto lease = orders.acquire({.ttl = 30s});
    EXPECT_FALSE(orders.try_acquire({.ttl = 10s}));
    EXPECT_FALSE(orders.try_acquire({.renew = false}));
    EXPECT_FALSE(orders.try_acquire({.max_hold = 5s}));
}

TEST_P(mutex_conformance, a_limited_wait_ends_with_nothing_and_not_early) {
    mutex ours{open(), "orders/42"};
    mutex theirs{open(), "orders/42"};
    const auto lease = ours.acquire();
    const auto begun = boot_clock::now();
    EXPECT_FALSE(theirs.try_acquire_for(a_while));
    EXPECT_GE(boot_clock::now() - begun, a_while);
}

TEST_P(mutex_conformance, acquire_fails_with_timed_out_after_its_wait_and_not_early) {
    mutex ours{open(), "orders/42"};
    mutex theirs{open(), "orders/42"};
    const auto lease = ours.acquire();
    const auto begun = boot_clock::now();
    EXPECT_EQ(error_of([&] { (void)theirs.acquire({.wait = a_while}); }), code(errc::timed_out));
    EXPECT_GE(boot_clock::now() - begun, a_while);
}

TEST_P(mutex_conformance, acquire_without_waiting_fails_with_timed_out) {
    mutex ours{open(), "orders/42"};
    mutex theirs{open(), "orders/42"};
    const auto lease = ours.acquire();
    EXPECT_EQ(error_of([&] { (void)theirs.acquire({.wait = 0s}); }), code(errc::timed_out));
}

TEST_P(mutex_conformance, a_wait_below_zero_asks_once) {
    mutex ours{open(), "orders/42"};
    mutex theirs{open(), "orders/42"};
    {
        const auto lease = ours.acquire({.wait = -5s});
        EXPECT_TRUE(lease.held());
        EXPECT_FALSE(theirs.try_acquire_for(-1s));
        EXPECT_EQ(error_of([&] { (void)theirs.acquire({.wait = -1s}); }), code(errc::timed_out));
    }
    EXPECT_TRUE(theirs.try_acquire_for(10s)) << "a short wait, for the release to arrive";
}

TEST_P(mutex_conformance, whoever_waits_for_ever_gets_it_with_the_release) {
    mutex ours{open(), "orders/42"};
    const auto theirs = std::make_shared<chronicle>();
    const auto other = open({.observer = theirs});
    auto lease = ours.acquire();
    auto waiter = in_a_thread([&] { return mutex{other, "orders/42"}.acquire(); });
    ASSERT_TRUE(theirs->saw(event::kind::waiting, "orders/42"));
    EXPECT_EQ(lease.release(), release_result::released);
    EXPECT_TRUE(outcome(waiter).held());
}

TEST_P(mutex_conformance, giving_up_leaves_nothing_behind) {
    const auto client = open();
    mutex ours{client, "orders/42"};
    const auto other = open();
    auto lease = ours.acquire();
    EXPECT_FALSE((mutex{other, "orders/42"}.try_acquire())); // connected: answers come in time now
    for (int i = 0; i < 5; ++i)
        EXPECT_FALSE((mutex{other, "orders/42"}.try_acquire_for(a_while)));
    EXPECT_TRUE(eventually([&] { return client.inspect("orders/42").at(0).waiters.empty(); }));
    EXPECT_EQ(lease.release(), release_result::released);
    EXPECT_TRUE(ours.try_acquire()) << "nobody else stands in line";
}

// The release of a lease that was just dropped travels ahead of our next request.
TEST_P(mutex_conformance, a_client_is_never_contended_by_what_it_just_dropped) {
    mutex orders{open(), "orders/42"};
    for (int i = 0; i < 200; ++i)
        ASSERT_TRUE(orders.try_acquire()) << "in round " << i;
    for (int i = 0; i < 200; ++i) {
        ASSERT_TRUE(orders.try_lock()) << "in round " << i;
        orders.unlock();
    }
}

TEST_P(mutex_conformance, a_client_is_never_contended_by_what_it_just_gave_up) {
    mutex ours{open(), "orders/42"};
    mutex theirs{open(), "orders/42"};
    ASSERT_TRUE(ours.try_acquire()); // from here on an answer comes sooner than we give up
    for (int i = 0; i < 5; ++i) {
        auto held = theirs.acquire({.wait = patience});
        ASSERT_FALSE(ours.try_acquire_for(a_while));
        ASSERT_EQ(held.release(), release_result::released);
        ASSERT_TRUE(ours.try_acquire()) << "in round " << i;
    }
}

// `counter` is no atomic: under tsan this also shows that what one holder wrote, the next one sees.
int count_in_threads(std::vector<mutex>& doors, int rounds) {
    int counter = 0;
    {
        std::vector<std::jthread> threads;
        for (auto& door : doors)
            threads.emplace_back([&] {
                for (int i = 0; i < rounds; ++i) {
                    const auto lease = door.acquire();
                    const int seen = counter;
                    std::this_thread::yield();
                    counter = seen + 1;
                }
            });
    }
    return counter;
}

TEST_P(mutex_conformance, threads_of_one_client_exclude_each_other) {
    const auto client = open();
    std::vector<mutex> doors;
    for (int i = 0; i < 8; ++i)
        doors.emplace_back(client, "counter");
    EXPECT_EQ(count_in_threads(doors, 100), 800) << promise_broken;
}

TEST_P(mutex_conformance, threads_that_share_one_mutex_exclude_each_other) {
    mutex door{open(), "counter"};
    int counter = 0;
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 8; ++t)
            threads.emplace_back([&] {
                for (int i = 0; i < 100; ++i) {
                    const std::scoped_lock hold{door};
                    ++counter;
                }
            });
    }
    EXPECT_EQ(counter, 800) << promise_broken;
}

TEST_P(mutex_conformance, threads_of_several_clients_exclude_each_other) {
    std::vector<mutex> doors;
    for (int i = 0; i < 4; ++i)
        doors.emplace_back(open(), "counter");
    EXPECT_EQ(count_in_threads(doors, 50), 200) << promise_broken;
}

TEST_P(mutex_conformance, several_threads_of_several_clients_exclude_each_other) {
    std::vector<mutex> doors;
    for (int i = 0; i < 3; ++i) {
        const auto client = open();
        for (int k = 0; k < 3; ++k)
            doors.emplace_back(client, "counter");
    }
    EXPECT_EQ(count_in_threads(doors, 40), 360) << promise_broken;
}

// A waiter is interrupted again and again by a signal whose handler does nothing.
TEST_P(mutex_conformance, signals_do_not_disturb_a_wait) {
    struct sigaction ignore {
    }, before{};
    ignore.sa_handler = [](int) {};
    ASSERT_EQ(::sigaction(SIGUSR1, &ignore, &before), 0); // without SA_RESTART
    const auto log = std::make_shared<chronicle>();
    const auto client = open({.observer = log});
    auto held = mutex{open(), "orders/42"}.acquire();
    {
        lease got;
        std::thread waiter{[&] { got = mutex{client, "orders/42"}.acquire(); }};
        EXPECT_TRUE(log->saw(event::kind::waiting, "orders/42"));
        for (int i = 0; i < 100; ++i) {
            ::pthread_kill(waiter.native_handle(), SIGUSR1);
            std::this_thread::yield();
        }
        EXPECT_EQ(held.release(), release_result::released);
        for (int i = 0; i < 100; ++i)
            ::pthread_kill(waiter.native_handle(), SIGUSR1);
        waiter.join();
        EXPECT_TRUE(got.held());
    }
    ::sigaction(SIGUSR1, &before, nullptr);
}

// Everything at once: asking once, waiting briefly, waiting on, releasing, dropping; two clients.
TEST_P(mutex_conformance, a_storm_of_all_ways_of_asking_leaves_nothing_behind) {
    const std::vector<client> clients{open(), open()};
    constexpr std::size_t rooms = 3;
    std::array<int, rooms> inside{}; // guarded by the locks under test
    std::atomic<int> entered{0};
    {
        std::vector<std::jthread> threads;
        for (unsigned t = 0; t < 6; ++t)
            threads.emplace_back([&, t] {
                std::mt19937 chance{t};
                for (int i = 0; i < 60; ++i) {
                    const auto room = chance() % rooms;
                    mutex door{clients[t % 2], "room/" + std::to_string(room)};
                    const acquire_options options{.ttl = chance() % 2 == 0 ? 10s : 20s};
                    std::optional<lease> got;
                    const auto how = chance() % 4;
                    try {
                        got = how == 0   ? door.try_acquire(options)
                              : how == 1 ? door.try_acquire_for(1ms, options)
                              : how == 2 ? door.try_acquire_for(20ms, options)
                                         : door.acquire(options);
                    } catch (const error& e) { // an engine may need longer
                        EXPECT_NE(how, 3U) << e.what();
                    }
                    if (!got)
                        continue;
                    ++entered;
                    EXPECT_EQ(inside[room]++, 0) << promise_broken;
                    std::this_thread::yield();
                    EXPECT_EQ(--inside[room], 0) << promise_broken;
                    if (chance() % 2 == 0) {
                        EXPECT_EQ(got->release(), release_result::released);
                    }
                }
            });
    }
    EXPECT_GT(entered, 90);
    EXPECT_TRUE(eventually([&] { return clients[0].inspect().empty(); }));
    for (std::size_t room = 0; room < rooms; ++room)
        EXPECT_TRUE((mutex{open(), "room/" + std::to_string(room)}.try_acquire()));
}

TEST_P(mutex_conformance, many_names_are_held_at_once) {
    const auto client = open();
    const auto other = open();
    std::vector<lease> leases;
    for (int i = 0; i < 200; ++i)
        leases.push_back(mutex{client, "item/" + std::to_string(i)}.acquire());
    for (int i = 0; i < 200; ++i)
        EXPECT_FALSE((mutex{other, "item/" + std::to_string(i)}.try_acquire())) << promise_broken;
    for (const auto& lease : leases)
        EXPECT_TRUE(lease.held());
    leases.clear();
    for (int i = 0; i < 200; ++i)
        EXPECT_TRUE((mutex{client, "item/" + std::to_string(i)}.try_acquire()));
}

} // namespace
} // namespace holdfast::conformance
