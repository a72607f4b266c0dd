// N permits under one name; those of the dead come back.

#include "conformance/engine.hpp"
#include "conformance/events.hpp"
#include "conformance/puppet.hpp"
#include "promise.hpp"

#include <holdfast/mutex.hpp>
#include <holdfast/semaphore.hpp>

#include <atomic>
#include <thread>
#include <vector>

namespace holdfast::conformance {
namespace {

HOLDFAST_SUITE(semaphore_conformance, permits);

TEST_P(semaphore_conformance, there_are_as_many_permits_as_it_says) {
    semaphore ours{open(), "seats", 3};
    semaphore theirs{open(), "seats", 3};
    EXPECT_EQ(ours.permits(), 3U);
    auto first = ours.acquire();
    auto second = theirs.acquire();
    auto third = ours.try_acquire();
    ASSERT_TRUE(third);
    EXPECT_TRUE(first.held() && second.held() && third->held());
    EXPECT_FALSE(ours.try_acquire());
    EXPECT_FALSE(theirs.try_acquire());
    EXPECT_FALSE(theirs.try_acquire_for(a_while));
    EXPECT_EQ(error_of([&] { (void)ours.acquire({.wait = a_while}); }), code(errc::timed_out));
    EXPECT_EQ(second.release(), release_result::released);
    EXPECT_TRUE(ours.try_acquire()) << "one came back";
}

TEST_P(semaphore_conformance, permits_carry_no_fence) {
    const auto permit = semaphore{open(), "seats", 2}.acquire();
    EXPECT_TRUE(permit.held());
    EXPECT_FALSE(permit.fence());
}

TEST_P(semaphore_conformance, one_permit_is_a_mutex) {
    semaphore ours{open(), "seats", 1};
    semaphore theirs{open(), "seats", 1};
    auto only = ours.acquire();
    EXPECT_FALSE(theirs.try_acquire());
    EXPECT_FALSE(ours.try_acquire());
    EXPECT_EQ(only.release(), release_result::released);
    EXPECT_TRUE(theirs.try_acquire());
}

TEST_P(semaphore_conformance, each_asker_counts_by_its_own_number) {
    const auto client = open();
    const auto one = semaphore{client, "seats", 2}.acquire();
    const auto two = semaphore{client, "seats", 2}.acquire();
    EXPECT_FALSE((semaphore{client, "seats", 2}.try_acquire()));
    const auto three = semaphore{client, "seats", 3}.try_acquire();
    EXPECT_TRUE(three);
    EXPECT_FALSE((semaphore{client, "seats", 3}.try_acquire()));
}

TEST_P(semaphore_conformance, no_permits_at_all_make_no_sense) {
    const auto client = open();
    EXPECT_EQ(error_of([&] { (void)semaphore{client, "seats", 0}; }), code(errc::bad_option));
}

TEST_P(semaphore_conformance, a_waiter_gets_the_permit_that_comes_back) {
    semaphore ours{open(), "seats", 2};
    const auto log = std::make_shared<chronicle>();
    const auto other = open({.observer = log});
    auto first = ours.acquire();
    auto second = ours.acquire();
    auto waiter = in_a_thread([&] { return semaphore{other, "seats", 2}.acquire(); });
    ASSERT_TRUE(log->saw(event::kind::waiting, "seats"));
    EXPECT_EQ(second.release(), release_result::released);
    EXPECT_TRUE(outcome(waiter).held());
    EXPECT_TRUE(first.held());
}

TEST_P(semaphore_conformance, a_lost_permit_comes_back) {
    semaphore ours{open(), "seats", 2};
    semaphore theirs{open(), "seats", 2};
    const auto kept = ours.acquire();
    const auto lost = ours.acquire({.ttl = 300ms, .renew = false});
    EXPECT_TRUE(theirs.try_acquire_for(patience));
    EXPECT_TRUE(lost.lost());
    EXPECT_TRUE(kept.held());
}

TEST_P(semaphore_conformance, threads_never_hold_more_permits_than_there_are) {
    std::vector<client> clients{open(), open()};
    std::atomic<int> inside{0}, most{0};
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 8; ++t)
            threads.emplace_back([&, t] {
                semaphore seats{clients[static_cast<std::size_t>(t % 2)], "seats", 3};
                for (int i = 0; i < 30; ++i) {
                    const auto permit = seats.acquire();
                    const int now = ++inside;
                    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
                    }
                    std::this_thread::yield();
                    --inside;
                }
            });
    }
    EXPECT_LE(most, 3) << promise_broken;
    EXPECT_EQ(inside, 0);
}

// Some of them give up when they have just been given a place, or a permit.
TEST_P(semaphore_conformance, those_who_give_up_soon_leave_nothing_behind) {
    constexpr int clients = 3, threads = 9, tries = 60;
    std::vector<client> all;
    std::vector<lease> renewed; // with whatever else of its client is still there
    for (int i = 0; i < clients; ++i) {
        all.push_back(open());
        renewed.push_back(mutex{all.back(), "client/" + std::to_string(i)}.acquire());
    }
    {
        std::vector<std::jthread> crowd;
        for (int who = 0; who < threads; ++who)
            crowd.emplace_back([&, who] {
                semaphore seats{all[static_cast<std::size_t>(who % clients)], "seats", 2};
                for (int i = 0; i < tries; ++i)
                    try {
                        (void)seats.try_acquire_for(
                            std::chrono::microseconds{(who + 7 * i) * 97 % 9'000});
                    } catch (const std::system_error&) { // no answer in so short a time
                    }
            });
    }
    const auto client = open();
    semaphore seats{client, "seats", 2};
    const auto one = seats.try_acquire_for(patience);
    const auto two = seats.try_acquire_for(patience);
    EXPECT_TRUE(one && two) << "nobody else wants one any more";
    EXPECT_TRUE(eventually([&] {
        const auto seen = client.inspect("seats");
        return seen.size() == 1 && seen.front().waiters.empty();
    }));
}

HOLDFAST_SUITE(processes_permit_conformance, permits_of_other_processes);

TEST_P(processes_permit_conformance, processes_share_the_permits) {
    puppet first{here()}, second{here()}, third{here()};
    const wanting seat{.name = "seats", .mode = mode::permit, .permits = 2};
    (void)first.acquires(seat);
    (void)second.acquires(seat);
    third.wants(seat);
    third.queued();
    EXPECT_EQ(first.releases(), release_result::released);
    (void)third.granted();
    EXPECT_TRUE(second.holds());
}

TEST_P(processes_permit_conformance, the_permits_of_the_killed_come_back) {
    puppet first{here()}, second{here()};
    const wanting seat{.name = "seats", .options = {.ttl = 1s}, .mode = mode::permit, .permits = 2};
    (void)first.acquires(seat);
    (void)second.acquires(seat);
    first.kill();
    second.kill();
    semaphore seats{open(), "seats", 2};
    const auto one = seats.try_acquire_for(patience);
    const auto two = seats.try_acquire_for(patience);
    EXPECT_TRUE(one && two);
    EXPECT_FALSE(seats.try_acquire());
}

} // namespace
} // namespace holdfast::conformance
