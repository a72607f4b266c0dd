// Several locks as one: all or nothing, in one order, one lease for all.

#include "conformance/child.hpp"
#include "conformance/engine.hpp"
#include "conformance/events.hpp"
#include "conformance/scratch.hpp"
#include "conformance/witness.hpp"
#include "promise.hpp"

#include <holdfast/async.hpp>
#include <holdfast/multi_lock.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/semaphore.hpp>
#include <holdfast/shared_mutex.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/use_future.hpp>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

namespace holdfast::conformance {
namespace {

namespace asio = boost::asio;
using member = multi_lock::member;

constexpr auto long_ttl = 10min;

HOLDFAST_SUITE(multi_conformance, nothing);

TEST_P(multi_conformance, all_are_held_and_all_are_given_back) {
    const auto client = open(), other = open();
    multi_lock both{client, {"b", "a"}};
    auto held = both.acquire();
    EXPECT_TRUE(held && held.held() && !held.lost());
    ASSERT_EQ(held.leases().size(), 2U);
    EXPECT_EQ(held.leases()[0].name(), "a") << "in the order of their names";
    EXPECT_EQ(held.of("b").name(), "b");
    EXPECT_GT(held.remaining(), 0s);
    EXPECT_EQ(held.deadline(), std::min(held.of("a").deadline(), held.of("b").deadline()));
    EXPECT_FALSE((mutex{other, "a"}.try_acquire()));
    EXPECT_FALSE((mutex{other, "b"}.try_acquire()));
    EXPECT_EQ(held.release(), release_result::released);
    EXPECT_FALSE(held);
    EXPECT_TRUE(other.inspect().empty());
}

TEST_P(multi_conformance, if_one_is_held_by_another_none_is_taken) {
    const auto client = open(), other = open();
    auto theirs = mutex{other, "b"}.acquire({.ttl = long_ttl});
    multi_lock all{client, {"a", "b", "c"}};
    EXPECT_FALSE(all.try_acquire());
    EXPECT_FALSE(all.try_acquire_for(a_while));
    EXPECT_EQ(error_of([&] { (void)all.acquire({.wait = a_while}); }), code(errc::timed_out));
    EXPECT_TRUE((mutex{other, "a"}.try_acquire_for(patience))) << "what it had is given back";
    EXPECT_TRUE((mutex{other, "c"}.try_acquire()));
    EXPECT_EQ(theirs.release(), release_result::released);
    EXPECT_TRUE(all.try_acquire());
}

TEST_P(multi_conformance, it_waits_for_the_last_of_them) {
    const auto client = open(), other = open();
    auto theirs = mutex{other, "b"}.acquire({.ttl = long_ttl});
    auto waiter = in_a_thread([&] { return multi_lock{client, {"a", "b"}}.acquire(); });
    EXPECT_TRUE(eventually([&] { return !other.inspect("a").empty(); }));
    EXPECT_EQ(theirs.release(), release_result::released);
    EXPECT_TRUE(outcome(waiter).held());
}

TEST_P(multi_conformance, the_std_face_is_lockable) {
    const auto client = open(), other = open();
    multi_lock both{client, {"a", "b"}}, third{client, {"c"}};
    {
        const std::scoped_lock hold{both, third};
        EXPECT_FALSE((mutex{other, "b"}.try_lock()));
        EXPECT_EQ(error_of([&] { both.lock(); }),
                  std::make_error_code(std::errc::resource_deadlock_would_occur));
        EXPECT_FALSE((mutex{other, "a"}.try_lock())) << "that error took nothing away";
    }
    std::unique_lock timed{both, std::defer_lock};
    EXPECT_TRUE(timed.try_lock_for(patience));
    timed.unlock();
    EXPECT_TRUE(eventually([&] { return other.inspect().empty(); }));
}

TEST_P(multi_conformance, the_first_loss_is_the_loss_of_all) {
    const auto client = open(), other = open();
    auto held = multi_lock{client, {"a", "b", "c"}}.acquire({.ttl = long_ttl});
    happening lost;
    held.on_lost([&] { lost.happen(); });
    const auto stop = held.stop_token();
    EXPECT_FALSE(stop.stop_requested());
    EXPECT_EQ(other.force_release("b"), 1U);
    EXPECT_TRUE(lost.awaited());
    EXPECT_TRUE(eventually([&] { return stop.stop_requested(); }));
    EXPECT_TRUE(held.lost());
    EXPECT_FALSE(held.held());
    EXPECT_EQ(held.remaining(), 0s);
    EXPECT_TRUE(held.of("a").held()) << "so that what it protects can be put in order";
    EXPECT_EQ(held.release(), release_result::lost);
    EXPECT_EQ(lost.times(), 1);
    EXPECT_TRUE(other.inspect().empty());
}

TEST_P(multi_conformance, what_is_lost_while_waiting_for_another_is_taken_again) {
    const auto log = std::make_shared<chronicle>();
    const auto client = open({.observer = log}), other = open();
    auto theirs = mutex{other, "b"}.acquire({.ttl = long_ttl});
    auto waiter = in_a_thread([&] { return multi_lock{client, {"a", "b"}}.acquire(); });
    ASSERT_TRUE(log->saw(event::kind::granted, "a"));
    EXPECT_EQ(other.force_release("a"), 1U);
    ASSERT_TRUE(log->saw(event::kind::lost, "a")); // whoever does not know believes that he has it
    EXPECT_EQ(theirs.release(), release_result::released);
    auto held = outcome(waiter);
    EXPECT_TRUE(held.held());
    EXPECT_TRUE(held.of("a").held());
}

TEST_P(multi_conformance, what_makes_no_sense_is_refused) {
    const auto client = open();
    EXPECT_EQ(error_of([&] {
                  (void)multi_lock{client, std::vector<member>{}};
              }),
              code(errc::bad_option));
    EXPECT_EQ(error_of([&] { (void)multi_lock{client, {"a", "b", "a"}}; }), code(errc::bad_option));
    EXPECT_EQ(error_of([&] { (void)multi_lock{client, {"a", ""}}; }), code(errc::bad_name));
    EXPECT_EQ(error_of([&] { (void)member::permit("a", 0); }), code(errc::bad_option));
    EXPECT_EQ(error_of([&] {
                  (void)multi_lock{client, {"a"}}.acquire().of("b");
              }),
              code(errc::not_held));
    EXPECT_EQ(error_of([&] { (void)multi_lease{}.release(); }), code(errc::not_held));
}

TEST_P(multi_conformance, threads_with_overlapping_sets_never_stop_each_other) {
    const auto ours = open(), theirs = open();
    const std::vector<std::vector<member>> sets{
        {"a", "b"}, {"c", "b"}, {"c", "a"}, {"b", "a", "c"}};
    std::atomic<int> inside_b{0}, overlaps{0}, done{0};
    {
        std::vector<std::jthread> all;
        for (std::size_t i = 0; i < sets.size(); ++i)
            all.emplace_back([&, i] {
                for (int round = 0; round < 25; ++round) {
                    const auto held = multi_lock{i % 2 == 0 ? ours : theirs, sets[i]}.acquire();
                    if (i != 2) {
                        overlaps += inside_b++ == 0 ? 0 : 1;
                        --inside_b;
                    }
                    ++done;
                }
            });
    }
    EXPECT_EQ(done, 100);
    EXPECT_EQ(overlaps, 0) << promise_broken;
    EXPECT_TRUE(eventually([&] { return ours.inspect().empty(); }));
}

// -------------------------------------------------------------------------------- asynchronously

TEST_P(multi_conformance, an_asynchronous_one_is_granted_like_any_other) {
    const auto client = open(), other = open();
    auto theirs = mutex{other, "b"}.acquire({.ttl = long_ttl});
    multi_lock both{client, {"a", "b"}};
    auto waiting = both.async_acquire({}, asio::use_future);
    auto refused = both.async_try_acquire({}, asio::use_future);
    EXPECT_FALSE(outcome(refused));
    auto late = both.async_acquire({.wait = a_while}, asio::use_future);
    EXPECT_EQ(error_in(late), errc::timed_out);
    EXPECT_EQ(theirs.release(), release_result::released);
    auto held = outcome(waiting);
    EXPECT_TRUE(held.held());
    EXPECT_EQ(held.release(), release_result::released);
    auto easy = both.async_try_acquire_for(patience, {}, asio::use_future);
    EXPECT_TRUE(outcome(easy));
}

TEST_P(multi_conformance, a_cancelled_one_leaves_nothing_behind) {
    const auto client = open(), other = open();
    auto theirs = mutex{other, "b"}.acquire({.ttl = long_ttl});
    for (int round = 0; round < 30; ++round) {
        asio::cancellation_signal stop;
        auto waiting = multi_lock{client, {"a", "b", "c"}}.async_acquire(
            {}, asio::bind_cancellation_slot(stop.slot(), asio::use_future));
        if (round % 3 == 0) {
            ASSERT_TRUE(eventually([&] { return !other.inspect("a").empty(); }));
        } else if (round % 3 == 1) {
            std::this_thread::yield();
        }
        stop.emit(asio::cancellation_type::terminal);
        EXPECT_EQ(error_in(waiting), asio::error::operation_aborted);
        EXPECT_TRUE((mutex{other, "a"}.try_acquire_for(patience)));
    }
    EXPECT_EQ(theirs.release(), release_result::released);
    EXPECT_TRUE(eventually([&] { return other.inspect().empty(); }));
}

// -------------------------------------------------------------------------------------- mixtures

HOLDFAST_SUITE(multi_shared_conformance, shared_locks);

TEST_P(multi_shared_conformance, readers_writers_and_mutexes_mix) {
    const auto client = open(), other = open();
    const auto held =
        multi_lock{client, {"log", member::reading("page"), member::writing("index")}}.acquire(
            {.ttl = long_ttl});
    shared_mutex page{other, "page"}, index{other, "index"};
    EXPECT_TRUE(page.try_acquire_shared());
    EXPECT_FALSE(page.try_acquire());
    EXPECT_FALSE(index.try_acquire_shared());
    EXPECT_FALSE((mutex{other, "log"}.try_acquire()));
    EXPECT_TRUE((multi_lock{other, {member::reading("page"), "other"}}.try_acquire()));
}

HOLDFAST_SUITE(multi_permits_conformance, permits);

TEST_P(multi_permits_conformance, a_permit_may_be_among_them) {
    const auto client = open(), other = open();
    const auto one = multi_lock{client, {"job/1", member::permit("gpu", 2)}}.acquire();
    const auto two = multi_lock{other, {"job/2", member::permit("gpu", 2)}}.acquire();
    EXPECT_FALSE((multi_lock{other, {"job/3", member::permit("gpu", 2)}}.try_acquire()));
    EXPECT_TRUE((mutex{client, "job/3"}.try_acquire_for(patience)));
}

HOLDFAST_SUITE(multi_fair_conformance, fair_order);

TEST_P(multi_fair_conformance, fair_locks_can_be_taken_together) {
    const auto client = open();
    const acquire_options fair{.order = queueing::fair};
    auto first = multi_lock{client, {"a", "b"}}.acquire(fair);
    auto waiter = in_a_thread([&] { return multi_lock{client, {"b", "a"}}.acquire(fair); });
    EXPECT_TRUE(eventually([&] { return client.inspect("a").at(0).waiters.size() == 1; }));
    EXPECT_EQ(first.release(), release_result::released);
    EXPECT_TRUE(outcome(waiter).held());
}

// ------------------------------------------------------------------------------------- processes

HOLDFAST_SUITE(multi_process_conformance, other_processes);

HOLDFAST_WORKER(climb_at_random) {
    const auto on = open(arguments.at(0));
    witness saw{arguments.at(1)};
    std::mt19937 luck{static_cast<unsigned>(std::stoul(arguments.at(2)))};
    for (int i = 0; i < 60; ++i) {
        std::vector<member> some{"common"};
        for (const char* name : {"a", "b", "c", "d"})
            if (luck() % 2 == 0)
                some.emplace_back(name);
        std::shuffle(some.begin(), some.end(), luck);
        const auto held = multi_lock{on, std::move(some)}.acquire();
        saw.testify(held.of("common"), 3);
    }
    return 0;
}

TEST_P(multi_process_conformance, programs_with_overlapping_sets_all_come_to_an_end) {
    const scratch_folder folder;
    const auto log = folder.path() + "/witness";
    const witness saw{log};
    {
        std::vector<child> workers;
        for (int i = 0; i < 4; ++i)
            workers.emplace_back("climb_at_random",
                                 std::vector{here().url(), log, std::to_string(i)});
        for (auto& worker : workers)
            EXPECT_EQ(worker.wait(), 0);
    }
    const auto seen = saw.judge();
    EXPECT_EQ(seen.holds, 240U);
    EXPECT_EQ(seen.overlaps, 0U) << promise_broken;
    EXPECT_TRUE(open().inspect().empty()) << "no partial hold is left behind";
}

} // namespace
} // namespace holdfast::conformance
