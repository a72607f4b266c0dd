// Real processes, each with a client of its own, on one place.

#include "conformance/child.hpp"
#include "conformance/engine.hpp"
#include "conformance/events.hpp"
#include "conformance/puppet.hpp"
#include "conformance/scratch.hpp"
#include "conformance/undisturbed.hpp"
#include "conformance/witness.hpp"
#include "promise.hpp"

#include <holdfast/mutex.hpp>

#include <fstream>
#include <vector>

namespace holdfast::conformance {
namespace {

HOLDFAST_SUITE(process_conformance, other_processes);
HOLDFAST_SUITE(stopped_process_conformance, stopped_processes_lose);

// An ordinary file, read and written without any care: only the lock keeps the count right.
[[nodiscard]] int read_number(const std::string& path) {
    int number = 0;
    std::ifstream{path} >> number;
    return number;
}

HOLDFAST_WORKER(count_up) {
    const auto on = open(arguments.at(0));
    const auto& path = arguments.at(1);
    witness saw{arguments.at(2)};
    const int rounds = std::stoi(arguments.at(3));
    for (int i = 0; i < rounds; ++i) {
        const auto lease = mutex{on, "counter"}.acquire();
        saw.testify(lease, 3);
        const int number = read_number(path);
        std::ofstream{path, std::ios::trunc} << number + 1;
    }
    return 0;
}

TEST_P(process_conformance, eight_processes_count_exactly) {
    const scratch_folder folder;
    const auto path = folder.path() + "/counter";
    const auto log = folder.path() + "/witness";
    const witness saw{log};
    {
        std::vector<child> workers;
        for (int i = 0; i < 8; ++i)
            workers.emplace_back("count_up",
                                 std::vector{here().url(), path, log, std::string{"100"}});
        for (auto& worker : workers)
            ASSERT_EQ(worker.wait(), 0);
    }
    EXPECT_EQ(read_number(path), 800) << promise_broken;
    const auto seen = saw.judge();
    EXPECT_EQ(seen.holds, 800U);
    EXPECT_EQ(seen.overlaps, 0U) << promise_broken;
    EXPECT_TRUE(open().inspect("counter").empty()) << "nothing is left behind";
}

TEST_P(process_conformance, what_one_process_holds_is_contended_for_another) {
    puppet first{here()}, second{here()};
    (void)first.acquires({.name = "orders/42"});
    second.wants({.name = "orders/42", .options = {.wait = 0s}});
    EXPECT_EQ(second.answer(), "contended") << promise_broken;
    second.wants({.name = "orders/42", .options = {.wait = a_while}});
    EXPECT_EQ(second.answer(), "contended");
    EXPECT_FALSE((mutex{open(), "orders/42"}.try_acquire()));
    EXPECT_TRUE(first.holds());
}

TEST_P(process_conformance, a_release_reaches_a_waiter_in_another_process) {
    puppet waiter{here()};
    auto lease = mutex{open(), "orders/42"}.acquire();
    waiter.wants({.name = "orders/42"});
    waiter.queued();
    EXPECT_EQ(lease.release(), release_result::released);
    (void)waiter.granted();
    EXPECT_TRUE(waiter.holds());
}

TEST_P(process_conformance, a_process_that_ends_properly_gives_back_what_it_holds) {
    puppet holder{here()};
    (void)holder.acquires({.name = "orders/42"});
    EXPECT_EQ(holder.leaves(), 0);
    EXPECT_TRUE((mutex{open(), "orders/42"}.try_acquire())) << "it said so before it went";
}

TEST_P(stopped_process_conformance, a_process_that_stands_still_loses_what_it_holds_after_the_ttl) {
    puppet holder{here()};
    mutex ours{open(), "orders/42"};
    (void)holder.acquires({.name = "orders/42", .options = {.ttl = 1s}});
    holder.watches();
    holder.stop();
    const auto lease = ours.try_acquire_for(patience);
    const auto granted = boot_clock::now();
    ASSERT_TRUE(lease);
    holder.resume();
    EXPECT_LE(holder.held_at_last(), granted) << "it knows as soon as it wakes";
    EXPECT_EQ(holder.releases(), release_result::lost);
    EXPECT_TRUE(lease->held());
}

TEST_P(stopped_process_conformance, an_explicit_lease_of_a_process_that_stands_still_ends_too) {
    puppet holder{here()};
    mutex ours{open(), "orders/42"};
    (void)holder.acquires({.name = "orders/42", .options = {.ttl = 500ms, .renew = false}});
    holder.watches();
    holder.stop();
    const auto lease = ours.try_acquire_for(patience);
    const auto granted = boot_clock::now();
    ASSERT_TRUE(lease);
    holder.resume();
    EXPECT_LE(holder.held_at_last(), granted);
    EXPECT_FALSE(holder.holds());
}

// The kernel ends it at its deadline, though it cannot run a single instruction itself.
TEST_P(process_conformance, a_holder_that_would_rather_die_is_killed_at_its_deadline) {
    puppet holder{here()};
    (void)holder.acquires(
        {.name = "orders/42", .options = {.ttl = 1s, .on_deadline = on_deadline::kill}});
    holder.stop();
    EXPECT_EQ(holder.wait(), -SIGKILL);
    EXPECT_TRUE((mutex{open(), "orders/42"}.try_acquire_for(patience)));
}

TEST_P(process_conformance, a_holder_that_would_rather_die_lives_while_it_is_renewed_and_after) {
    const auto client = open();
    EXPECT_TRUE(undisturbed(250ms, [&] {
        puppet holder{here()};
        (void)holder.acquires(
            {.name = "orders/42", .options = {.ttl = 1s, .on_deadline = on_deadline::kill}});
        mutex ours{client, "orders/42"};
        try {
            const bool kept = !ours.try_acquire_for(1500ms) && holder.holds() &&
                              holder.releases() == release_result::released;
            const auto lease = ours.acquire({.wait = patience, .ttl = 1s, .renew = false});
            // Longer than its deadline would have been.
            return kept && ours.try_acquire_for(patience) && holder.leaves() == 0;
        } catch (const std::runtime_error&) {
            return false; // killed: rightly so, if this machine stood still
        }
    }));
}

TEST_P(process_conformance, a_waiter_killed_in_the_queue_is_in_nobodys_way) {
    puppet waiter{here()}, next{here()};
    auto lease = mutex{open(), "orders/42"}.acquire();
    waiter.wants({.name = "orders/42", .options = {.ttl = 1s}});
    waiter.queued();
    next.wants({.name = "orders/42"});
    next.queued();
    waiter.kill();
    EXPECT_EQ(lease.release(), release_result::released);
    (void)next.granted();
}

TEST_P(process_conformance, a_waiter_that_stands_still_is_passed_over_in_time) {
    puppet waiter{here()}, next{here()};
    auto lease = mutex{open(), "orders/42"}.acquire();
    waiter.wants({.name = "orders/42", .options = {.ttl = 1s}});
    waiter.queued();
    next.wants({.name = "orders/42", .options = {.ttl = 1s}});
    next.queued();
    waiter.stop();
    EXPECT_EQ(lease.release(), release_result::released);
    (void)next.granted();
    EXPECT_EQ(next.releases(), release_result::released);
    waiter.resume();
    (void)waiter.granted();
    EXPECT_TRUE(waiter.holds());
}

HOLDFAST_SUITE(processes_fence_conformance, fences_of_other_processes);

TEST_P(processes_fence_conformance, fences_grow_from_process_to_process_and_over_the_dead) {
    fence last;
    for (int i = 0; i < 4; ++i) {
        puppet holder{here()};
        const auto next = holder.acquires({.name = "orders/42", .options = {.ttl = 1s}});
        EXPECT_GT(next, last) << promise_broken;
        last = next;
        if (i % 2 == 0)
            holder.kill();
        else
            EXPECT_EQ(holder.releases(), release_result::released);
    }
    EXPECT_GT((mutex{open(), "orders/42"}.acquire().fence()), last) << promise_broken;
}

} // namespace
} // namespace holdfast::conformance
