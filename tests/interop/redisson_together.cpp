// Redisson's clients exclude, wake, renew and survive each other; also those of two versions.

#include "interop/redisson.hpp"
#include "promise.hpp"

namespace holdfast::interop {
namespace {

using namespace std::chrono_literals;

class redisson_together : public with_redisson {};

INSTANTIATE_TEST_SUITE_P(real,
                         redisson_together,
                         ::testing::ValuesIn(redisson_versions_to_test()),
                         version_as_name);

const std::vector<std::string> kinds{"plain", "fair", "write", "spin", "fenced"};

TEST_P(redisson_together, one_waits_until_the_other_releases) {
    for (const auto& kind : kinds) {
        const auto name = "of-" + kind;
        java->ask("lock c1 h1", kind, name);
        const auto waiting = java->begin("lock c2 h1", kind, name);
        EXPECT_FALSE(java->has_answered(waiting, 50ms)) << kind;
        EXPECT_EQ(java->ask("held c2 h2", kind, name).substr(0, 6), "0 true") << kind;
        java->ask("unlock c1 h1", kind, name);
        java->end(waiting, 5s);
        EXPECT_EQ(java->ask("held c2 h1", kind, name).substr(0, 6), "1 true") << kind;
        java->ask("unlock c2 h1", kind, name);
        EXPECT_EQ(java->ask("held c2 h1", kind, name), "0 false -2") << kind;
    }
}

TEST_P(redisson_together, they_count_without_a_mistake) {
    for (const auto& kind : kinds) {
        const auto counter = "counter-" + kind;
        std::vector<peer::ticket> all;
        for (const std::string hand : {"c1 h1", "c1 h2", "c2 h1", "c2 h2"})
            all.push_back(java->begin("count", hand, kind, "of-" + kind, counter, "50"));
        for (const auto one : all)
            java->end(one);
        EXPECT_EQ(server->ask({"GET", counter}).text, "200") << promise_broken << kind;
    }
}

TEST_P(redisson_together, a_counter_without_a_lock_would_be_wrong) {
    // The counting itself has teeth: two locks, so nobody excludes anybody.
    const auto one = java->begin("count c1 h1 plain this counter 200");
    const auto other = java->begin("count c2 h1 plain that counter 200");
    java->end(one);
    java->end(other);
    EXPECT_NE(server->ask({"GET", "counter"}).text, "400") << promise_broken;
}

TEST_P(redisson_together, a_lock_is_renewed_until_its_process_is_killed) {
    java->ask("client quick single watchdog_ms=3000 address=" + server->address());
    java->ask("lock quick h1 plain orders");
    const auto left = [&] { return server->ask({"PTTL", "orders"}).number; };
    for (int i = 0; i < 3; ++i) { // it falls and rises again
        EXPECT_TRUE(cli_tests::comes_true(30s, [&] { return left() < 2200; }));
        EXPECT_TRUE(cli_tests::comes_true(30s, [&] { return left() > 2500; }));
    }
    java->kill();
    EXPECT_GT(left(), 0);
    EXPECT_TRUE(cli_tests::comes_true(30s, [&] { return left() == -2; }));
    expect_silence(); // nobody says that it has expired
}

TEST(redisson_versions, exclude_each_other) {
    HOLDFAST_NEEDS(servers::redis_server::missing());
    HOLDFAST_NEEDS(peer::redisson_missing(newest_redisson));
    HOLDFAST_NEEDS(peer::redisson_missing(older_redisson));
    const servers::redis_server server;
    auto newest = peer::redisson(newest_redisson);
    auto older = peer::redisson(older_redisson);
    for (auto* java : {&newest, &older})
        java->ask("client c single address=" + server.address());
    for (const auto& kind : kinds) {
        const auto counter = "counter-" + kind;
        const auto one = newest.begin("count c h", kind, "of-" + kind, counter, "50");
        const auto other = older.begin("count c h", kind, "of-" + kind, counter, "50");
        newest.end(one);
        older.end(other);
        EXPECT_EQ(server.ask({"GET", counter}).text, "100") << promise_broken << kind;
    }
}

} // namespace
} // namespace holdfast::interop
