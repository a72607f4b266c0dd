// kill -9: the lock goes on to the next, once, and nothing is left behind.

#include "conformance/child.hpp"
#include "conformance/engine.hpp"
#include "conformance/events.hpp"
#include "conformance/puppet.hpp"
#include "conformance/scratch.hpp"
#include "conformance/witness.hpp"
#include "promise.hpp"

#include <holdfast/mutex.hpp>

#include <algorithm>
#include <random>
#include <spawn.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace holdfast::conformance {
namespace {

HOLDFAST_SUITE(death_conformance, other_processes);

TEST_P(death_conformance, a_killed_holder_loses_the_lock_after_its_ttl_at_the_latest) {
    puppet holder{here()};
    (void)holder.acquires({.name = "orders/42", .options = {.ttl = 1s}});
    holder.kill();
    EXPECT_TRUE((mutex{open(), "orders/42"}.try_acquire_for(patience)));
}

TEST_P(death_conformance, a_holder_that_goes_without_a_word_loses_the_lock_too) {
    puppet holder{here()};
    (void)holder.acquires({.name = "orders/42", .options = {.ttl = 1s}});
    EXPECT_EQ(holder.vanishes(), 0);
    EXPECT_TRUE((mutex{open(), "orders/42"}.try_acquire_for(patience)));
}

// Holds the lock and becomes another program, which knows nothing of it and reads until the end.
HOLDFAST_WORKER(hold_and_become_cat) {
    const auto on = open(arguments.at(0));
    const auto lease = mutex{on, "orders/42"}.acquire({.ttl = 1s});
    tell_parent("held");
    ::execl("/bin/cat", "cat", nullptr);
    return 70;
}

TEST_P(death_conformance, a_holder_that_becomes_another_program_loses_the_lock) {
    child holder{"hold_and_become_cat", {here().url()}};
    ASSERT_EQ(holder.hear(), "held");
    EXPECT_TRUE((mutex{open(), "orders/42"}.try_acquire_for(patience)));
    holder.say("still there");
    EXPECT_EQ(holder.hear(), "still there");
}

// Holds the lock and has started another program, which outlives it.
HOLDFAST_WORKER(hold_and_start_cat) {
    const auto on = open(arguments.at(0), {.children_keep_locks = arguments.at(1) == "keep"});
    const auto lease = mutex{on, "orders/42"}.acquire({.ttl = 1s});
    char name[] = "cat";
    char* const words[] = {name, nullptr};
    pid_t pid = 0;
    if (::posix_spawn(&pid, "/bin/cat", nullptr, nullptr, words, environ) != 0)
        return 70;
    tell_parent("held");
    ::pause();
    return 0;
}

TEST_P(death_conformance, a_program_that_a_killed_holder_had_started_keeps_nothing) {
    child holder{"hold_and_start_cat", {here().url(), "let go"}};
    ASSERT_EQ(holder.hear(), "held");
    holder.kill();
    EXPECT_TRUE((mutex{open(), "orders/42"}.try_acquire_for(patience)));
    holder.say("still there");
    EXPECT_EQ(holder.hear(), "still there");
}

// Takes the lock, works for a moment, gives it back; for ever, or until somebody kills it. Where it
// is long in coming it is held longer, or hardly anybody would die holding it.
HOLDFAST_WORKER(toil) {
    witness saw{arguments.at(1)};
    for (;;) {
        const auto on = open(arguments.at(0));
        for (int i = 0; i < 20; ++i) {
            {
                const auto asked = std::chrono::steady_clock::now();
                const auto lease = mutex{on, "mine"}.acquire({.ttl = 1s});
                const auto waited = std::chrono::steady_clock::now() - asked;
                saw.testify(lease,
                            20'000 *
                                static_cast<int>(std::clamp<std::int64_t>(waited / 10ms, 1, 10)));
            }
            tell_parent("done");
        }
    }
}

TEST_P(death_conformance, killing_again_and_again_loses_and_doubles_nothing) {
    const scratch_folder folder;
    const auto log = folder.path() + "/witness";
    const witness saw{log};
    const std::vector<std::string> arguments{here().url(), log};
    std::mt19937 chance{
        static_cast<std::mt19937::result_type>(::testing::UnitTest::GetInstance()->random_seed())};
    std::vector<child> workers;
    for (int i = 0; i < 4; ++i)
        workers.emplace_back("toil", arguments);
    const auto any = [&]() -> child& { return workers[chance() % workers.size()]; };

    // Until enough of them have died while they held it; one more may be holding it just now. Where
    // death is not noticed, each of them costs its ttl.
    const int enough = promises().notices_death ? 60 : 12;
    const auto deaths = promises().notices_death ? 5U : 2U;
    int kills = 0;
    for (; kills < enough || (saw.judge().cut_short < deaths + 1 && kills < 10 * enough); ++kills) {
        auto& speaker = any();
        for (auto lines = 1 + chance() % 10; lines > 0; --lines)
            (void)
                speaker.hear(); // throws if the lock has got lost: nobody would be served any more
        // Not at the very moment of a release: that would hit the same step each time.
        std::this_thread::sleep_for(std::chrono::microseconds{chance() % 2000});
        auto& victim = any();
        victim.kill();
        victim = child{"toil", arguments};
    }
    for (auto& worker : workers)
        worker.kill();

    const auto seen = saw.judge();
    std::printf("%d killed; %zu holds, %zu of them cut short\n", kills, seen.holds, seen.cut_short);
    EXPECT_GE(seen.cut_short, deaths) << "this test has hardly seen a holder die";
    EXPECT_EQ(seen.overlaps, 0U) << promise_broken;
    EXPECT_EQ(seen.regressions, 0U) << promise_broken;

    const auto client = open();
    EXPECT_TRUE((mutex{client, "mine"}.try_acquire_for(patience)));
    // Where death is not noticed, who died waiting may be listed for a while.
    EXPECT_TRUE(eventually([&] {
        const auto all = client.inspect("*");
        return std::all_of(all.begin(), all.end(), [&](const lock_info& one) {
            return one.holders.empty() && !promises().notices_death;
        });
    })) << "nothing is left behind";
}

HOLDFAST_SUITE(children_conformance, embedding);

TEST_P(children_conformance,
       a_program_that_a_killed_holder_had_started_keeps_the_lock_if_it_shall) {
    child holder{"hold_and_start_cat", {here().url(), "keep"}};
    ASSERT_EQ(holder.hear(), "held");
    holder.kill();
    mutex ours{open(), "orders/42"};
    EXPECT_FALSE(ours.try_acquire_for(2500ms)) << "also beyond its ttl";
    holder.say("still there");
    EXPECT_EQ(holder.hear(), "still there");
    EXPECT_FALSE(ours.try_acquire());
    holder.say_no_more();
    EXPECT_TRUE(ours.try_acquire_for(patience)) << "with the last of them it is free";
}

HOLDFAST_SUITE(sight_of_death_conformance, sight_of_death);

constexpr auto long_ttl = 10min; // much longer than our patience

TEST_P(sight_of_death_conformance, a_killed_holder_is_noticed_by_those_who_wait) {
    puppet holder{here()};
    const auto log = std::make_shared<chronicle>();
    const auto client = open({.observer = log});
    (void)holder.acquires({.name = "orders/42", .options = {.ttl = long_ttl}});
    auto waiter = in_a_thread([&] {
        return mutex{client, "orders/42"}.acquire({.wait = patience});
    });
    ASSERT_TRUE(log->saw(event::kind::waiting, "orders/42"));
    holder.kill();
    EXPECT_TRUE(outcome(waiter).held());
}

TEST_P(sight_of_death_conformance, a_killed_holder_is_noticed_by_whoever_asks_next) {
    puppet holder{here()};
    (void)holder.acquires({.name = "orders/42", .options = {.ttl = long_ttl}});
    holder.kill();
    EXPECT_TRUE((mutex{open(), "orders/42"}.try_acquire()));
}

TEST_P(sight_of_death_conformance, a_killed_holder_of_an_explicit_lease_is_noticed) {
    puppet holder{here()};
    (void)holder.acquires({.name = "orders/42", .options = {.ttl = long_ttl, .renew = false}});
    holder.kill();
    EXPECT_TRUE((mutex{open(), "orders/42"}.try_acquire()));
}

TEST_P(sight_of_death_conformance, a_killed_waiter_does_not_hold_up_those_behind_it) {
    puppet waiter{here()}, next{here()};
    auto lease = mutex{open(), "orders/42"}.acquire();
    const acquire_options long_in_turn{.ttl = long_ttl};
    waiter.wants({.name = "orders/42", .options = long_in_turn});
    waiter.queued();
    next.wants({.name = "orders/42", .options = long_in_turn});
    next.queued();
    waiter.kill();
    EXPECT_EQ(lease.release(), release_result::released);
    (void)next.granted();
}

TEST_P(sight_of_death_conformance, one_of_many_dies_and_the_others_keep_what_they_have) {
    std::vector<puppet> holders;
    for (int i = 0; i < 4; ++i)
        (void)holders.emplace_back(here()).acquires(
            {.name = "item/" + std::to_string(i), .options = {.ttl = long_ttl}});
    holders[1].kill();
    const auto client = open();
    EXPECT_TRUE((mutex{client, "item/1"}.try_acquire()));
    for (const int i : {0, 2, 3}) {
        EXPECT_FALSE((mutex{client, "item/" + std::to_string(i)}.try_acquire()));
        EXPECT_TRUE(holders[static_cast<std::size_t>(i)].holds());
    }
}

} // namespace
} // namespace holdfast::conformance
