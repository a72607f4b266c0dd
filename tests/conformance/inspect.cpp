// What an operator sees, and may do.

#include "conformance/engine.hpp"
#include "conformance/events.hpp"
#include "conformance/puppet.hpp"

#include <holdfast/mutex.hpp>
#include <holdfast/semaphore.hpp>
#include <holdfast/shared_mutex.hpp>

#include <algorithm>
#include <string>
#include <unistd.h>
#include <vector>

namespace holdfast::conformance {
namespace {

HOLDFAST_SUITE(inspect_conformance, nothing);
HOLDFAST_SUITE(inspect_places_conformance, fair_order);

[[nodiscard]] std::vector<std::string> names(const std::vector<lock_info>& locks) {
    std::vector<std::string> all;
    for (const auto& l : locks)
        all.push_back(l.name);
    std::sort(all.begin(), all.end());
    return all;
}

TEST_P(inspect_conformance, a_held_lock_is_listed_with_its_holder) {
    const auto client = open({.purpose = "billing"});
    const auto lease = mutex{client, "orders/42"}.acquire({.ttl = 20s});
    const auto seen = open().inspect();
    ASSERT_EQ(names(seen), std::vector<std::string>{"orders/42"});
    ASSERT_EQ(seen[0].holders.size(), 1U);
    const auto& holder = seen[0].holders[0];
    EXPECT_EQ(holder.who.pid, ::getpid());
    EXPECT_FALSE(holder.who.host.empty());
    EXPECT_EQ(holder.who.purpose, "billing");
    EXPECT_EQ(holder.mode, mode::exclusive);
    EXPECT_EQ(holder.fence, lease.fence());
    EXPECT_GE(holder.held_for, duration::zero());
    if (holder.remaining) {
        EXPECT_GT(*holder.remaining, duration::zero());
        EXPECT_LE(*holder.remaining, 20s);
    }
    EXPECT_TRUE(seen[0].waiters.empty());
}

TEST_P(inspect_conformance, whoever_says_nothing_of_itself_is_known_by_its_command_line) {
    const auto client = open();
    const auto lease = mutex{client, "orders/42"}.acquire();
    const auto who = client.inspect().at(0).holders.at(0).who;
    EXPECT_NE(who.purpose.find("conformance_tests"), std::string::npos) << who.purpose;
}

TEST_P(inspect_conformance, a_free_lock_is_not_listed) {
    const auto client = open();
    EXPECT_TRUE(client.inspect().empty());
    auto lease = mutex{client, "orders/42"}.acquire();
    EXPECT_EQ(lease.release(), release_result::released);
    EXPECT_TRUE(client.inspect().empty());
}

TEST_P(inspect_conformance, patterns_choose_names) {
    const auto client = open();
    std::vector<lease> held;
    for (const char* name : {"orders/42", "orders/43", "orders/43/lines", "bills/42", "a*b", "axb"})
        held.push_back(mutex{client, name}.acquire());
    const auto list = [&](const char* pattern) { return names(client.inspect(pattern)); };
    using strings = std::vector<std::string>;
    EXPECT_EQ(list("*").size(), 6U);
    EXPECT_EQ(list("orders/42"), strings{"orders/42"});
    EXPECT_EQ(list("orders/*"), (strings{"orders/42", "orders/43", "orders/43/lines"}));
    EXPECT_EQ(list("*/4?"), (strings{"bills/42", "orders/42", "orders/43"}));
    EXPECT_EQ(list("orders/4[2]"), strings{"orders/42"});
    EXPECT_EQ(list("a[*]b"), strings{"a*b"});
    EXPECT_EQ(list("Orders/42"), strings{});
    EXPECT_EQ(list("orders"), strings{});
}

TEST_P(inspect_places_conformance, waiters_are_listed_in_the_order_of_their_places) {
    const auto client = open();
    auto held = mutex{client, "orders/42"}.acquire();
    const auto first_log = std::make_shared<chronicle>();
    const auto first = open({.observer = first_log, .purpose = "first"});
    const auto second_log = std::make_shared<chronicle>();
    const auto second = open({.observer = second_log, .purpose = "second"});
    auto one = in_a_thread([&] { return mutex{first, "orders/42"}.acquire().held(); });
    ASSERT_TRUE(first_log->saw(event::kind::waiting, "orders/42"));
    auto two = in_a_thread([&] { return mutex{second, "orders/42"}.acquire().held(); });
    ASSERT_TRUE(second_log->saw(event::kind::waiting, "orders/42"));

    std::vector<lock_info> seen; // where waiters are only noted down, that may take a moment
    EXPECT_TRUE(eventually([&] {
        seen = client.inspect("orders/42");
        return seen.size() == 1 && seen[0].waiters.size() == 2;
    }));
    EXPECT_EQ(held.release(), release_result::released);
    EXPECT_TRUE(outcome(one));
    EXPECT_TRUE(outcome(two));
    ASSERT_EQ(seen.size(), 1U);
    ASSERT_EQ(seen[0].waiters.size(), 2U);
    EXPECT_EQ(seen[0].waiters[0].who.purpose, "first");
    EXPECT_EQ(seen[0].waiters[1].who.purpose, "second");
    EXPECT_EQ(seen[0].waiters[0].who.pid, ::getpid());
    EXPECT_EQ(seen[0].waiters[0].mode, mode::exclusive);
    EXPECT_GE(seen[0].waiters[0].waited_for, duration::zero());
}

TEST_P(inspect_conformance, a_lock_taken_by_force_is_lost_for_its_holder) {
    mutex ours{open(), "orders/42"};
    happening lost;
    auto lease = ours.acquire({.ttl = 3s});
    lease.on_lost([&] { lost.happen(); });
    EXPECT_EQ(open().force_release("orders/42"), 1U);
    EXPECT_TRUE((mutex{open(), "orders/42"}.try_acquire_for(patience)));
    ASSERT_TRUE(lost.awaited());
    EXPECT_FALSE(lease.held());
    EXPECT_TRUE(lease.lost());
    EXPECT_TRUE(lease.stop_token().stop_requested());
    EXPECT_EQ(lease.release(), release_result::lost);
}

TEST_P(inspect_conformance, force_takes_that_name_and_nothing_else) {
    const auto client = open();
    auto one = mutex{client, "orders/1"}.acquire();
    auto two = mutex{client, "orders/2"}.acquire();
    EXPECT_EQ(open().force_release("orders/1"), 1U);
    EXPECT_TRUE(eventually([&] { return one.lost(); }));
    EXPECT_TRUE(two.held());
    EXPECT_EQ(two.release(), release_result::released);
}

TEST_P(inspect_conformance, a_release_finds_out_that_the_lock_was_taken_by_force) {
    mutex ours{open(), "orders/42"};
    auto lease = ours.acquire({.ttl = 10min});
    EXPECT_EQ(open().force_release("orders/42"), 1U);
    EXPECT_EQ(lease.release(), release_result::lost);
}

TEST_P(inspect_conformance, force_lets_the_next_waiter_in) {
    auto lease = mutex{open(), "orders/42"}.acquire({.ttl = 10min});
    const auto log = std::make_shared<chronicle>();
    const auto other = open({.observer = log});
    auto waiter = in_a_thread([&] { return mutex{other, "orders/42"}.acquire().held(); });
    ASSERT_TRUE(log->saw(event::kind::waiting, "orders/42"));
    EXPECT_EQ(open().force_release("orders/42"), 1U);
    EXPECT_TRUE(outcome(waiter));
}

TEST_P(inspect_conformance, force_on_a_free_lock_finds_nobody) {
    const auto client = open();
    EXPECT_EQ(client.force_release("orders/42"), 0U);
    EXPECT_TRUE(client.inspect().empty());
    EXPECT_EQ(error_of([&] { client.force_release(""); }), code(errc::bad_name));
}

TEST_P(inspect_conformance, force_takes_a_name_as_it_is_and_no_pattern) {
    const auto client = open();
    const auto lease = mutex{client, "orders/42"}.acquire();
    EXPECT_EQ(client.force_release("*"), 0U);
    EXPECT_EQ(client.inspect().size(), 1U);
}

HOLDFAST_SUITE(inspect_shared_conformance, shared_locks);

TEST_P(inspect_shared_conformance, all_readers_are_listed_and_taken_by_force) {
    shared_mutex ours{open({.purpose = "ours"}), "page"};
    shared_mutex theirs{open({.purpose = "theirs"}), "page"};
    auto one = ours.acquire_shared({.ttl = 3s});
    auto two = theirs.acquire_shared({.ttl = 3s});
    const auto client = open();
    const auto seen = client.inspect("page").at(0);
    ASSERT_EQ(seen.holders.size(), 2U);
    for (const auto& reader : seen.holders)
        EXPECT_EQ(reader.mode, mode::shared);
    happening lost;
    one.on_lost([&] { lost.happen(); });
    two.on_lost([&] { lost.happen(); });
    EXPECT_EQ(client.force_release("page"), 2U);
    EXPECT_TRUE(lost.awaited(2));
    EXPECT_TRUE((shared_mutex{client, "page"}.try_acquire()));
}

HOLDFAST_SUITE(inspect_permits_conformance, permits);

TEST_P(inspect_permits_conformance, all_permits_are_listed_and_taken_by_force) {
    const auto client = open();
    semaphore seats{client, "seats", 3};
    auto one = seats.acquire({.ttl = 10min});
    auto two = seats.acquire({.ttl = 10min});
    const auto seen = client.inspect("seats").at(0);
    ASSERT_EQ(seen.holders.size(), 2U);
    for (const auto& holder : seen.holders)
        EXPECT_EQ(holder.mode, mode::permit);
    EXPECT_EQ(client.force_release("seats"), 2U);
    EXPECT_EQ(one.release(), release_result::lost);
    EXPECT_EQ(two.release(), release_result::lost);
    EXPECT_TRUE(client.inspect().empty());
}

HOLDFAST_SUITE(inspect_processes_conformance, other_processes);
HOLDFAST_SUITE(inspect_places_of_processes_conformance, fair_order_of_other_processes);

TEST_P(inspect_places_of_processes_conformance, waiters_of_other_processes_have_their_numbers) {
    puppet holder{here()}, waiter{here()};
    (void)holder.acquires({.name = "orders/42"});
    waiter.wants({.name = "orders/42"});
    waiter.queued();
    const auto client = open();
    lock_info seen;
    EXPECT_TRUE(eventually([&] {
        seen = client.inspect("orders/42").at(0);
        return seen.waiters.size() == 1;
    }));
    ASSERT_EQ(seen.waiters.size(), 1U);
    EXPECT_EQ(seen.waiters[0].who.pid, waiter.pid());
}

TEST_P(inspect_processes_conformance, holders_of_other_processes_have_their_numbers) {
    puppet holder{here()};
    const auto number = holder.acquires({.name = "orders/42"});
    const auto seen = open().inspect("orders/42").at(0);
    ASSERT_EQ(seen.holders.size(), 1U);
    EXPECT_EQ(seen.holders[0].who.pid, holder.pid());
    EXPECT_EQ(seen.holders[0].who.purpose, "puppet");
    EXPECT_EQ(seen.holders[0].fence, number);
}

TEST_P(inspect_processes_conformance, a_lock_taken_by_force_goes_to_another_process) {
    puppet holder{here()}, waiter{here()};
    (void)holder.acquires({.name = "orders/42", .options = {.ttl = 10min}});
    waiter.wants({.name = "orders/42"});
    waiter.queued();
    EXPECT_EQ(open().force_release("orders/42"), 1U);
    (void)waiter.granted();
    EXPECT_EQ(holder.releases(), release_result::lost);
    EXPECT_TRUE(waiter.holds());
}

} // namespace
} // namespace holdfast::conformance
