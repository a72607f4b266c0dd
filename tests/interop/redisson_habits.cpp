// What Redisson does that a look at its keys does not show, and where it is better not to follow
// it.

#include "interop/redisson.hpp"

#include <algorithm>

namespace holdfast::interop {
namespace {

using namespace std::chrono_literals;

class redisson_habits : public with_redisson {
protected:
    [[nodiscard]] std::int64_t ttl_of(const std::string& key) const {
        return server->ask({"PTTL", key}).number;
    }
    [[nodiscard]] bool expires(const std::string& key) const {
        return cli_tests::comes_true(10s, [&] { return ttl_of(key) == -2; });
    }
    [[nodiscard]] std::int64_t server_ms() const {
        const auto now = server->ask({"TIME"});
        return std::stoll(now.items.at(0).text) * 1000 + std::stoll(now.items.at(1).text) / 1000;
    }
    [[nodiscard]] std::ptrdiff_t count(monitor& commands, const std::string& text) const {
        const auto all = commands.so_far();
        return std::count_if(all.begin(), all.end(), [&](const std::string& line) {
            return line.find(text) != std::string::npos;
        });
    }
};

INSTANTIATE_TEST_SUITE_P(real,
                         redisson_habits,
                         ::testing::ValuesIn(redisson_versions_to_test()),
                         version_as_name);

TEST_P(redisson_habits, on_one_server_nobody_waits_for_replicas) {
    monitor commands{*server};
    java->ask("lock c1 h1 plain orders");
    java->ask("unlock c1 h1 plain orders");
    EXPECT_EQ(count(commands, "\"WAIT\""), 0);
}

TEST_P(redisson_habits, releasing_a_plain_lock_that_has_expired_fails) {
    java->ask("lock c1 h1 plain orders 100");
    ASSERT_TRUE(expires("orders"));
    EXPECT_THROW(java->ask("unlock c1 h1 plain orders"), std::runtime_error);
    expect_silence();
}

TEST_P(redisson_habits, releasing_a_fair_lock_that_has_expired_succeeds) {
    java->ask("lock c1 h1 fair orders 100");
    ASSERT_TRUE(expires("orders"));
    EXPECT_NO_THROW(java->ask("unlock c1 h1 fair orders"));
    EXPECT_NO_THROW(java->ask("unlock c2 h1 fair orders")); // who never held it
    expect_silence();
}

TEST_P(redisson_habits, releasing_a_write_lock_that_has_expired_fails_since_3_44_but_is_told) {
    java->ask("lock c1 h1 write orders 100");
    ASSERT_TRUE(expires("orders"));
    if (is_newest())
        EXPECT_THROW(java->ask("unlock c1 h1 write orders"), std::runtime_error);
    else
        EXPECT_NO_THROW(java->ask("unlock c1 h1 write orders"));
    expect_news("redisson_rwlock:{orders} 1");
}

TEST_P(redisson_habits, a_nested_reader_can_cut_its_writers_lease) {
    java->ask("lock c1 h1 write orders 30000");
    java->ask("lock c1 h1 read orders 20000");
    java->ask("lock c1 h1 read orders 10000");
    EXPECT_GT(ttl_of("orders"), 20'000);
    java->ask("unlock c1 h1 read orders"); // the second goes, what is left of the first counts
    EXPECT_LE(ttl_of("orders"), 20'000);
}

TEST_P(redisson_habits, a_lease_is_forgotten_by_the_call_that_returns_a_token) {
    EXPECT_EQ(java->ask("token c1 h1 fenced orders 10000"), "1");
    EXPECT_GT(ttl_of("orders"), 20'000);
}

TEST_P(redisson_habits, trying_for_a_token_waits) {
    java->ask("lock c1 h1 fenced orders");
    const auto trying = java->begin("trytoken c2 h1 fenced orders");
    EXPECT_FALSE(java->has_answered(trying, 300ms));
    java->ask("unlock c1 h1 fenced orders");
    EXPECT_EQ(java->end(trying, 5s), "2");
}

TEST_P(redisson_habits, behind_a_dead_fair_waiter_the_living_run_in_circles_since_3_32) {
    server->ask({"RPUSH", "redisson_lock_queue:{orders}", "dead:1"});
    server->ask({"ZADD",
                 "redisson_lock_timeout:{orders}",
                 std::to_string(server_ms() + 300'000),
                 "dead:1"});
    monitor commands{*server};
    EXPECT_EQ(java->ask("trylock c1 h1 fair orders 1000 10000"), "no");
    const auto tries = count(commands, is_newest() ? "\"EVALSHA\"" : "\"EVAL\"");
    std::cout << tries << " tries in a second\n";
    if (is_newest())
        EXPECT_GT(tries, 15);
    else
        EXPECT_LT(tries, 10);
}

TEST_P(redisson_habits, a_dead_reader_is_renewed_by_the_living_before_4_4) {
    java->ask("client quick single watchdog_ms=3000 address=" + server->address());
    java->ask("lock quick h1 read orders");
    const std::string grave = "{orders}:dead:1:rwlock_timeout:1";
    server->ask({"HSET", "orders", "dead:1", "1"});
    server->ask({"SET", grave, "1", "PX", "2000"});
    const auto mine = "{orders}:" + java->ask("holder quick h1") + ":rwlock_timeout:1";
    for (int renewals = 0; renewals < 3; ++renewals) {
        ASSERT_TRUE(cli_tests::comes_true(30s, [&] { return ttl_of(mine) < 2200; }));
        ASSERT_TRUE(cli_tests::comes_true(30s, [&] { return ttl_of(mine) > 2500; }));
    }
    EXPECT_EQ(ttl_of(grave) == -2, is_newest());
}

TEST_P(redisson_habits, many_locks_are_renewed_in_one_script_since_3_44) {
    java->ask("client quick single watchdog_ms=3000 address=" + server->address());
    for (int i = 0; i < 10; ++i)
        java->ask("lock quick h1 plain many-" + std::to_string(i));
    const auto falls_and_rises = [&] {
        return cli_tests::comes_true(30s, [&] { return ttl_of("many-0") < 2200; }) &&
               cli_tests::comes_true(30s, [&] { return ttl_of("many-0") > 2500; });
    };
    ASSERT_TRUE(falls_and_rises());
    monitor commands{*server};
    ASSERT_TRUE(falls_and_rises());
    const auto scripts = count(commands, is_newest() ? "\"EVALSHA\"" : "\"EVAL\"");
    EXPECT_TRUE(is_newest() ? scripts <= 2 : scripts >= 10) << scripts;
}

TEST_P(redisson_habits, a_release_wakes_one_waiter_of_each_client) {
    java->ask("lock c1 h1 plain orders");
    const auto one = java->begin("lock c2 h1 plain orders");
    const auto other = java->begin("lock c2 h2 plain orders");
    EXPECT_TRUE(cli_tests::comes_true(30s, [&] {
        return to_string(server->ask({"PUBSUB", "NUMSUB", "redisson_lock__channel:{orders}"})) ==
               "[redisson_lock__channel:{orders}, 1]"; // and our ears, which hear by pattern
    }));
    EXPECT_FALSE(java->has_answered(one, 100ms) || java->has_answered(other));
    monitor commands{*server};
    server->ask({"PUBLISH", "redisson_lock__channel:{orders}", "0"}); // a false alarm
    const auto* script = is_newest() ? "\"EVALSHA\"" : "\"EVAL\"";
    const auto tries = [&](std::ptrdiff_t expected) { // so many, and then no more
        std::ptrdiff_t seen = 0;
        return cli_tests::comes_true(
                   30s, [&] { return (seen += count(commands, script)) >= expected; }) &&
               !java->has_answered(one, 200ms) && !java->has_answered(other) &&
               seen + count(commands, script) == expected;
    };
    EXPECT_TRUE(tries(1));
    server->ask({"PUBLISH", "redisson_lock__channel:{orders}", "1"});
    EXPECT_TRUE(tries(2));
    server->ask({"PUBLISH", "redisson_lock__channel:{orders}", "7"});
    EXPECT_FALSE(java->has_answered(one, 200ms) || java->has_answered(other));
    EXPECT_EQ(count(commands, script), 0);
}

TEST_P(redisson_habits, a_permit_released_late_comes_back_although_it_says_no) {
    java->ask("permit c1 h1 set tickets 1");
    const auto late = java->ask("permit c1 h1 acquire tickets 100");
    const auto deadline = std::stoll(
        server->ask({"ZRANGE", "{tickets}:timeout", "0", "0", "WITHSCORES"}).items.at(1).text);
    ASSERT_TRUE(cli_tests::comes_true(30s, [&] { return server_ms() > deadline; }));
    EXPECT_EQ(java->ask("permit c1 h1 release tickets " + late), "false");
    EXPECT_EQ(server->ask({"GET", "tickets"}).text, "1");
}

} // namespace
} // namespace holdfast::interop
