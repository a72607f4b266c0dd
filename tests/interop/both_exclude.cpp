// Java and we on one name: one at a time, woken by each other, in order.

#include "interop/both.hpp"
#include "promise.hpp"

namespace holdfast::interop {
namespace {

using namespace std::chrono_literals;

class both_exclude : public with_both {};

INSTANTIATE_TEST_SUITE_P(real,
                         both_exclude,
                         ::testing::ValuesIn(redisson_versions_to_test()),
                         version_as_name);

// Longer than any test: who gets it before was told, and did not wait for a ttl.
const std::string ten_minutes = "600000";

TEST_P(both_exclude, they_count_without_a_mistake) {
    java->ask("permit c1 h1 set of-permit 1");
    const std::vector<std::string> kinds{
        "plain", "fair", "write", "spin", "fenced", "permit", "multi"};
    for (const auto& kind : kinds) {
        const auto name = kind == "multi" ? "of-m1,of-m2,of-m3" : "of-" + kind;
        const auto counter = "counter-" + kind;
        std::vector<std::pair<peer*, peer::ticket>> all;
        for (auto* one : {&*java, &*ours})
            for (const std::string hand : {"c1 h1", "c2 h1"})
                all.emplace_back(one, one->begin("guard", hand, kind, name, counter, "40"));
        for (const auto& [whose, ticket] : all)
            ASSERT_NO_THROW(whose->end(ticket)) << kind;
        EXPECT_EQ(server->ask({"GET", counter}).text, "160") << promise_broken << kind;
    }
}

TEST_P(both_exclude, a_counter_without_a_lock_would_be_wrong) {
    const auto one = java->begin("count c1 h1 plain this counter 200");
    const auto other = ours->begin("count c1 h1 plain that counter 200");
    java->end(one);
    ours->end(other);
    EXPECT_NE(server->ask({"GET", "counter"}).text, "400") << promise_broken;
}

TEST_P(both_exclude, what_one_holds_the_other_does_not_get) {
    for (const auto& [one, other, said] : both_ways())
        for (const std::string kind : {"plain", "fair", "write", "spin", "fenced"}) {
            const auto name = said + "-" + kind;
            one.ask("lock c1 h1", kind, name, ten_minutes);
            EXPECT_EQ(other.ask("trylock c1 h1", kind, name, "0", ten_minutes), "no") << name;
            EXPECT_EQ(other.ask("trylock c1 h1", kind, name, "50", ten_minutes), "no") << name;
            one.ask("unlock c1 h1", kind, name);
            EXPECT_EQ(other.ask("trylock c1 h1", kind, name, "0", ten_minutes).substr(0, 3), "yes")
                << name;
        }
}

TEST_P(both_exclude, each_is_woken_by_the_other) {
    struct pair {
        std::string held, wanted;
    };
    const std::vector<pair> pairs{{"plain", "plain"},
                                  {"fair", "fair"},
                                  {"fenced", "fenced"},
                                  {"multi", "multi"},
                                  {"write", "write"},
                                  {"write", "read"},
                                  {"read", "write"}};
    for (const auto& [one, other, said] : both_ways())
        for (const auto& [held, wanted] : pairs) {
            auto name = said + "-" + held + "-" + wanted;
            if (held == "multi")
                name += "-a," + name + "-b";
            one.ask("lock c1 h1", held, name, ten_minutes);
            const auto waiting = other.begin("lock c1 h1", wanted, name, ten_minutes);
            EXPECT_FALSE(other.has_answered(waiting, 150ms)) << name;
            one.ask("unlock c1 h1", held, name);
            EXPECT_NO_THROW(other.end(waiting, 15s)) << name;
            EXPECT_NO_THROW(other.ask("unlock c1 h1", wanted, name)) << name;
        }
}

TEST_P(both_exclude, a_release_between_a_refusal_and_listening_is_not_missed) {
    // Short turns, so that releases fall on every moment of the other's way into its wait.
    for (const auto& [one, other, said] : both_ways())
        for (int i = 0; i < 100; ++i) {
            one.ask("lock c1 h1 plain", said, ten_minutes);
            const auto waiting = other.begin("lock c1 h1 plain", said, ten_minutes);
            static_cast<void>(other.has_answered(waiting, std::chrono::milliseconds{i % 5}));
            one.ask("unlock c1 h1 plain", said);
            ASSERT_NO_THROW(other.end(waiting, 15s)) << said << " " << i;
            other.ask("unlock c1 h1 plain", said);
        }
}

TEST_P(both_exclude, who_came_first_is_served_first_across_languages) {
    const std::string queue = "redisson_lock_queue:{orders}";
    java->ask("lock c1 h1 fair orders", ten_minutes);
    std::vector<waiter> line{{&*ours, "c1 h1"},
                             {&*java, "c2 h1"},
                             {&*ours, "c2 h1"},
                             {&*ours, "c1 h2"},
                             {&*java, "c1 h2"},
                             {&*java, "c2 h2"},
                             {&*ours, "c2 h2"}};
    std::int64_t place = 0;
    for (auto& one : line) {
        one.ticket = one.who->begin("lock", one.hand, "fair orders", ten_minutes);
        ++place;
        ASSERT_TRUE(cli_tests::comes_true(10s, [&] { return number({"LLEN", queue}) == place; }));
    }
    java->ask("unlock c1 h1 fair orders");
    expect_turns(line, "fair orders");
    EXPECT_EQ(number({"EXISTS", queue, "redisson_lock_timeout:{orders}", "orders"}), 0);
}

TEST_P(both_exclude, readers_share_and_nobody_else_does) {
    for (const auto& [one, other, said] : both_ways())
        for (const std::string held : {"read", "write", "plain"})
            for (const std::string wanted : {"read", "write"}) {
                // Redisson itself walks past a plain lock; that is its own and not ours to mend.
                if (held == "plain" && &other == &*java)
                    continue;
                const auto name = said + "-" + held + "-" + wanted;
                one.ask("lock c1 h1", held, name, ten_minutes);
                const bool may = held == "read" && wanted == "read";
                EXPECT_EQ(other.ask("trylock c1 h1", wanted, name, "0", ten_minutes),
                          may ? "yes" : "no")
                    << name;
                one.ask("unlock c1 h1", held, name);
                if (may) {
                    EXPECT_EQ(one.ask("trylock c2 h1 write", name, "0", ten_minutes), "no");
                    other.ask("unlock c1 h1", wanted, name);
                }
                EXPECT_EQ(one.ask("trylock c2 h1 write", name, "0", ten_minutes), "yes") << name;
            }
}

TEST_P(both_exclude, permits_go_from_one_to_the_other) {
    for (const auto& [one, other, said] : both_ways()) {
        for (auto* each : {&one, &other})
            for (const std::string hand : {"c1 h1", "c1 h2"})
                each->ask("permit", hand, "set", said, "2");
        const auto first = one.ask("permit c1 h1 acquire", said, ten_minutes);
        const auto second = other.ask("permit c1 h1 acquire", said, ten_minutes);
        EXPECT_EQ(one.ask("permit c1 h2 tryacquire", said, "0", ten_minutes), "null");
        EXPECT_EQ(other.ask("permit c1 h2 tryacquire", said, "0", ten_minutes), "null");
        const auto waiting = other.begin("permit c1 h2 acquire", said, ten_minutes);
        EXPECT_FALSE(other.has_answered(waiting, 150ms));
        EXPECT_EQ(one.ask("permit c1 h1 release", said, first), "true");
        std::string third;
        ASSERT_NO_THROW(third = other.end(waiting, 15s)) << said;
        EXPECT_EQ(one.ask("permit c1 h2 tryacquire", said, "0", ten_minutes), "null");
        EXPECT_EQ(other.ask("permit c1 h1 release", said, second), "true");
        EXPECT_EQ(other.ask("permit c1 h2 release", said, third), "true");
        EXPECT_EQ(server->ask({"GET", said}).text, "2") << "all are back";
        EXPECT_EQ(number({"ZCARD", "{" + said + "}:timeout"}), 0);
    }
}

TEST_P(both_exclude, fences_of_both_are_one_growing_row) {
    std::int64_t last = 0;
    for (const auto* whose : {"java", "ours", "ours", "java", "java", "ours", "java", "ours"}) {
        auto& one = whose == std::string{"java"} ? *java : *ours;
        const auto fence = std::stoll(one.ask("lock c1 h1 fenced orders"));
        EXPECT_GT(fence, last) << promise_broken << whose;
        last = fence;
        one.ask("unlock c1 h1 fenced orders");
    }
}

} // namespace
} // namespace holdfast::interop
