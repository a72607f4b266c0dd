// Curator or we are killed, or lose the session, while holding or in the queue; the other goes on,
// when the session is over at the latest.

#include "interop/both_on_zookeeper.hpp"
#include "interop/curator.hpp"
#include "interop/fight.hpp"

namespace holdfast::interop {
namespace {

using namespace std::chrono_literals;

constexpr auto session = 4s; // a busy machine may be silent for a while

class zookeeper_die : public with_both_on_zookeeper {
protected:
    const std::vector<std::string> kinds{
        "mutex", "fair", "write", "read", "multi", "semaphore_mutex"};

    /// A client that is missed soon.
    [[nodiscard]] static std::string brief_client_of(const std::string& kind) {
        return kind == "semaphore_mutex" ? "s-brief" : "brief";
    }
    void open_brief(peer& one) {
        open(one, "brief", session);
        open(one, "s-brief", session);
    }
    [[nodiscard]] static std::string waiting_for(const std::string& held) {
        return held == "read" ? "write" : held;
    }

    /// Nothing is heard of it for longer than ZooKeeper waits; then it is let go on.
    void fall_silent(peer& one, const std::function<bool()>& until) {
        one.pause();
        EXPECT_TRUE(cli_tests::comes_true(60s, until)) << dump(*tree);
        one.resume();
    }
};

INSTANTIATE_TEST_SUITE_P(real,
                         zookeeper_die,
                         ::testing::ValuesIn(curator_versions_to_test()),
                         version_as_name);

TEST_P(zookeeper_die, what_the_dead_held_goes_to_the_living_after_their_session) {
    for (const auto& [dies, lives, said] : deaths()) {
        open_brief(*dies);
        std::vector<peer::ticket> waits;
        for (const auto& kind : kinds) {
            dies->ask("lock", brief_client_of(kind), "h1", kind, path_of(said, kind));
            waits.push_back(lives->begin("lock",
                                         client_of(kind, 1),
                                         "h-" + said + kind,
                                         waiting_for(kind),
                                         path_of(said, kind)));
        }
        for (std::size_t i = 0; i < kinds.size(); ++i)
            EXPECT_FALSE(lives->has_answered(waits[i], 50ms)) << said << kinds[i];
        dies->kill();
        for (std::size_t i = 0; i < kinds.size(); ++i)
            EXPECT_NO_THROW(lives->end(waits[i])) << said << kinds[i];
        revive(dies);
    }
}

TEST_P(zookeeper_die, leases_of_the_dead_come_back) {
    for (const auto& [dies, lives, said] : deaths()) {
        const auto path = "/" + said;
        open_brief(*dies);
        dies->ask("permit brief h1 set", path, "1");
        lives->ask("permit c1 h1 set", path, "1");
        dies->ask("permit brief h1 acquire", path);
        const auto waiting = lives->begin("permit c1 h1 acquire", path);
        EXPECT_FALSE(lives->has_answered(waiting, 100ms)) << said;
        dies->kill();
        EXPECT_NO_THROW(lives->end(waiting)) << said;
        revive(dies);
    }
}

TEST_P(zookeeper_die, a_dead_waiter_keeps_the_queue_no_longer_than_its_session) {
    for (const auto& [dies, lives, said] : deaths())
        for (const std::string kind : {"fair", "write"}) {
            const auto path = path_of(said, kind);
            open_brief(*dies);
            lives->ask("lock c1 h1", kind, path);
            const auto dead = dies->begin("lock brief h1", kind, path);
            ASSERT_TRUE(has_children(path, 2)) << dump(*tree);
            const auto next = lives->begin("lock c2 h1", kind, path);
            ASSERT_TRUE(has_children(path, 3)) << dump(*tree);
            EXPECT_FALSE(dies->has_answered(dead));
            dies->kill();
            lives->ask("unlock c1 h1", kind, path);
            EXPECT_NO_THROW(lives->end(next)) << path;
            EXPECT_TRUE(has_children(path, 1)) << dump(*tree);
            lives->ask("unlock c2 h1", kind, path);
            revive(dies);
        }
}

TEST_P(zookeeper_die, a_dead_one_in_the_way_of_a_lease_is_passed) {
    for (const auto& [dies, lives, said] : deaths()) {
        const auto path = "/" + said;
        open_brief(*dies);
        dies->ask("permit brief h1 set", path, "1");
        for (const std::string hand : {"c1 h1", "c2 h1"})
            lives->ask("permit", hand, "set", path, "1");
        const auto held = lives->ask("permit c1 h1 acquire", path);
        const auto dead = dies->begin("permit brief h1 acquire", path);
        ASSERT_TRUE(has_children(path + "/locks", 1)) << dump(*tree);
        const auto next = lives->begin("permit c2 h1 acquire", path);
        ASSERT_TRUE(has_children(path + "/locks", 2)) << dump(*tree);
        EXPECT_FALSE(dies->has_answered(dead));
        dies->kill();
        lives->ask("permit c1 h1 release", path, held);
        EXPECT_NO_THROW(lives->end(next)) << said;
        revive(dies);
    }
}

TEST_P(zookeeper_die, a_holder_without_a_session_is_followed_by_the_next) {
    open_brief(*java);
    java->ask("lock brief h1 mutex /orders");
    const auto us = ours->begin("lock c1 h1 mutex /orders");
    EXPECT_FALSE(ours->has_answered(us, 100ms));
    servers::expire(server->address(), session_of(*java, "brief"));
    EXPECT_NO_THROW(ours->end(us));
    ours->ask("unlock c1 h1 mutex /orders");

    open_brief(*ours);
    for (const std::string kind : {"mutex", "write", "multi"}) {
        const auto path = path_of("ours", kind);
        ours->ask("lock brief h1", kind, path);
        const auto next = java->begin("lock c1 h1", kind, path);
        EXPECT_FALSE(java->has_answered(next, 100ms)) << path;
        fall_silent(*ours, [&] { return java->has_answered(next); });
        java->end(next);
        EXPECT_EQ(ours->ask("held brief h1", kind, path), "no") << path;
        EXPECT_THROW(ours->ask("unlock brief h1", kind, path), std::runtime_error) << path;
        EXPECT_EQ(ours->ask("trylock brief h1", kind, path, "100 -1"), "no") << path;
        java->ask("unlock c1 h1", kind, path);
        EXPECT_EQ(ours->ask("trylock brief h1", kind, path, "20000 -1"), "yes") << path;
        ours->ask("unlock brief h1", kind, path);
    }
}

TEST_P(zookeeper_die, a_waiter_without_a_session_lines_up_again) {
    // Java: its session is ended; we: nothing is heard of us.
    open_brief(*java);
    ours->ask("lock c1 h1 mutex /orders");
    const std::string asking = "lock brief h1 mutex /orders";
    auto of_java = java->begin(asking);
    ASSERT_TRUE(comes_to_wait(*java, "brief", *server));
    servers::expire(server->address(), session_of(*java, "brief"));
    ASSERT_TRUE(java_lines_up_again(of_java, asking, "/orders", 2)) << dump(*tree);
    ours->ask("unlock c1 h1 mutex /orders");
    EXPECT_NO_THROW(java->end(of_java));
    java->ask("unlock brief h1 mutex /orders");

    open_brief(*ours);
    for (const std::string kind : {"fair", "write"}) {
        const auto path = path_of("ours", kind);
        java->ask("lock c1 h1", kind, path);
        const auto of_us = ours->begin("lock brief h1", kind, path);
        ASSERT_TRUE(has_children(path, 2)) << dump(*tree);
        fall_silent(*ours, [&] { return tree->children(path).size() == 1; });
        ASSERT_TRUE(has_children(path, 2)) << dump(*tree);
        EXPECT_FALSE(ours->has_answered(of_us)) << path;
        java->ask("unlock c1 h1", kind, path);
        EXPECT_NO_THROW(ours->end(of_us)) << path;
        ours->ask("unlock brief h1", kind, path);
    }
}

TEST_P(zookeeper_die, they_fight_while_either_is_killed_at_random) {
    a_fight fight{{"zookeeper session_ms=5000 address=" + server->address(),
                   [](const std::string& ring) { return path_of("of", ring); },
                   [this](const std::string& ring) { return counter(ring); },
                   [this](const std::string& ring) { return counted(ring); }},
                  {"mutex", "fair", "read", "write", "permit", "multi"}};
    fight.go_on_with_deaths(
        takes_its_time() ? 180s : 10s, ours, java, [this](auto& who) { revive(who); });
}

} // namespace
} // namespace holdfast::interop
