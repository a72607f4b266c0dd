// Curator and we on one path: one at a time, woken by each other, in the order of the nodes.

#include "interop/both_on_zookeeper.hpp"
#include "interop/curator.hpp"

#include <algorithm>

namespace holdfast::interop {
namespace {

using namespace std::chrono_literals;

class zookeeper_exclude : public with_both_on_zookeeper {};

INSTANTIATE_TEST_SUITE_P(real,
                         zookeeper_exclude,
                         ::testing::ValuesIn(curator_versions_to_test()),
                         version_as_name);

TEST_P(zookeeper_exclude, they_count_without_a_mistake) {
    const std::vector<std::string> kinds{
        "mutex", "fair", "write", "semaphore_mutex", "permit", "multi"};
    for (const auto& kind : kinds) {
        const auto path = path_of("of", kind);
        std::vector<std::pair<peer*, peer::ticket>> all;
        for (auto* one : {&*java, &*ours})
            for (const int client : {1, 2}) {
                const auto hand = client_of(kind, client) + " h-" + kind;
                if (kind == "permit")
                    one->ask("permit", hand, "set", path, "1");
                all.emplace_back(one, one->begin("guard", hand, kind, path, counter(kind), "40"));
            }
        for (const auto& [whose, ticket] : all)
            EXPECT_NO_THROW(whose->end(ticket)) << kind;
        EXPECT_EQ(counted(kind), 160) << kind;
    }
}

TEST_P(zookeeper_exclude, a_counter_without_a_lock_would_be_wrong) {
    const auto one = java->begin("count c1 h1 mutex /this", counter("none"), "200");
    const auto other = ours->begin("count c1 h1 mutex /that", counter("none"), "200");
    java->end(one);
    ours->end(other);
    EXPECT_NE(counted("none"), 400);
}

TEST_P(zookeeper_exclude, what_one_holds_the_other_does_not_get) {
    for (const auto& [one, other, said] : both_ways())
        for (const std::string kind : {"mutex", "fair", "write", "semaphore_mutex", "multi"}) {
            const auto path = path_of(said, kind);
            const auto hand = client_of(kind, 1) + " h1";
            one.ask("lock", hand, kind, path);
            EXPECT_EQ(other.ask("trylock", hand, kind, path, "0 -1"), "no") << path;
            EXPECT_EQ(other.ask("trylock", hand, kind, path, "50 -1"), "no") << path;
            one.ask("unlock", hand, kind, path);
            EXPECT_EQ(other.ask("trylock", hand, kind, path, "5000 -1"), "yes") << path;
            other.ask("unlock", hand, kind, path);
        }
}

TEST_P(zookeeper_exclude, each_is_woken_by_the_other) {
    struct pair {
        std::string held, wanted;
    };
    const std::vector<pair> pairs{{"mutex", "mutex"},
                                  {"fair", "fair"},
                                  {"semaphore_mutex", "semaphore_mutex"},
                                  {"multi", "multi"},
                                  {"write", "write"},
                                  {"write", "read"},
                                  {"read", "write"}};
    for (const auto& [one, other, said] : both_ways())
        for (const auto& [held, wanted] : pairs) {
            const auto path = path_of(said + "-" + wanted, held);
            const auto hand = client_of(held, 1) + " h1";
            one.ask("lock", hand, held, path);
            const auto waiting = other.begin("lock", hand, wanted, path);
            EXPECT_FALSE(other.has_answered(waiting, 150ms)) << path;
            one.ask("unlock", hand, held, path);
            EXPECT_NO_THROW(other.end(waiting)) << path;
            EXPECT_NO_THROW(other.ask("unlock", hand, wanted, path)) << path;
        }
}

TEST_P(zookeeper_exclude, a_release_on_the_way_into_the_queue_is_not_missed) {
    // Short turns, so that releases fall on every moment of the other's way into its wait.
    for (const auto& [one, other, said] : both_ways())
        for (const std::string kind : {"mutex", "write"})
            for (int i = 0; i < 60; ++i) {
                const auto path = path_of(said, kind);
                one.ask("lock c1 h1", kind, path);
                const auto waiting = other.begin("lock c1 h1", kind, path);
                static_cast<void>(other.has_answered(waiting, std::chrono::milliseconds{i % 6}));
                one.ask("unlock c1 h1", kind, path);
                ASSERT_NO_THROW(other.end(waiting)) << path << " " << i;
                other.ask("unlock c1 h1", kind, path);
            }
}

TEST_P(zookeeper_exclude, who_came_first_is_served_first) {
    java->ask("lock c1 h0 mutex /orders");
    std::vector<waiter> line{{&*ours, "c1 h1"},
                             {&*java, "c2 h1"},
                             {&*ours, "c2 h1"},
                             {&*ours, "c1 h2"},
                             {&*java, "c1 h2"},
                             {&*java, "c2 h2"},
                             {&*ours, "c2 h2"}};
    std::size_t place = 1;
    for (auto& one : line) {
        one.ticket = one.who->begin("lock", one.hand, "fair /orders");
        ASSERT_TRUE(has_children("/orders", ++place)) << dump(*tree);
    }
    java->ask("unlock c1 h0 mutex /orders");
    expect_turns(line, "fair /orders");
    EXPECT_TRUE(has_children("/orders", 0)) << dump(*tree);
}

TEST_P(zookeeper_exclude, turns_are_in_the_order_of_the_nodes_whoever_made_them) {
    struct contender {
        peer* who;
        std::string client;
        std::int64_t session = 0; ///< Java's; ours is known by its fence
        peer::ticket ticket{};
    };
    std::vector<contender> all;
    for (auto* one : {&*java, &*ours})
        for (const std::string client : {"x1", "x2", "x3", "x4"}) {
            open(*one, client, 20s);
            all.push_back({one, client, one == &*java ? session_of(*one, client).id : 0});
        }
    java->ask("lock c1 h0 mutex /orders");
    for (auto& one : all) // all at once: they line up as they come
        one.ticket = one.who->begin(
            "lock", one.client, "h", one.session != 0 ? "mutex" : "fenced", "/orders");
    ASSERT_TRUE(has_children("/orders", all.size() + 1)) << dump(*tree);
    auto queue = tree->nodes_in("/orders");
    std::sort(queue.begin(), queue.end(), [](const auto& one, const auto& other) {
        return one.path.substr(one.path.size() - 10) < other.path.substr(other.path.size() - 10);
    });
    java->ask("unlock c1 h0 mutex /orders");
    std::int64_t last_fence = 0;
    for (std::size_t turn = 1; turn < queue.size(); ++turn) {
        const auto& node = queue[turn];
        contender* served = nullptr;
        ASSERT_TRUE(cli_tests::comes_true(30s, [&] {
            for (auto& one : all)
                if (one.who != nullptr && one.who->has_answered(one.ticket))
                    served = &one;
            return served != nullptr;
        })) << turn;
        const auto answer = served->who->end(served->ticket);
        if (served->session != 0) {
            EXPECT_EQ(node.owner, served->session) << "turn " << turn;
        } else {
            EXPECT_EQ(node.created_by, std::stoll(answer)) << "turn " << turn;
            EXPECT_GT(node.created_by, last_fence);
            last_fence = node.created_by;
        }
        served->who->ask(
            "unlock", served->client, "h", served->session != 0 ? "mutex" : "fenced", "/orders");
        served->who = nullptr;
    }
}

TEST_P(zookeeper_exclude, readers_share_and_nobody_else_does) {
    for (const auto& [one, other, said] : both_ways())
        for (const std::string held : {"read", "write"})
            for (const std::string wanted : {"read", "write"}) {
                const auto path = path_of(said + "-" + held, wanted);
                one.ask("lock c1 h1", held, path);
                const bool may = held == "read" && wanted == "read";
                EXPECT_EQ(other.ask("trylock c1 h1", wanted, path, may ? "5000 -1" : "50 -1"),
                          may ? "yes" : "no")
                    << path;
                one.ask("unlock c1 h1", held, path);
                if (may) {
                    EXPECT_EQ(one.ask("trylock c2 h1 write", path, "50 -1"), "no") << path;
                    other.ask("unlock c1 h1", wanted, path);
                }
                EXPECT_EQ(one.ask("trylock c2 h1 write", path, "5000 -1"), "yes") << path;
                one.ask("unlock c2 h1 write", path);
            }
}

TEST_P(zookeeper_exclude, a_reader_does_not_pass_a_writer_who_waits) {
    for (const auto& [one, other, said] : both_ways()) {
        const auto path = "/" + said;
        one.ask("lock c1 h1 read", path);
        const auto writer = other.begin("lock c1 h1 write", path);
        ASSERT_TRUE(has_children(path, 2)) << dump(*tree);
        EXPECT_EQ(one.ask("trylock c2 h1 read", path, "100 -1"), "no") << said;
        const auto reader = one.begin("lock c2 h1 read", path);
        ASSERT_TRUE(has_children(path, 3)) << dump(*tree);
        one.ask("unlock c1 h1 read", path);
        EXPECT_NO_THROW(other.end(writer)) << said;
        EXPECT_FALSE(one.has_answered(reader, 100ms)) << said;
        other.ask("unlock c1 h1 write", path);
        EXPECT_NO_THROW(one.end(reader)) << said;
        one.ask("unlock c2 h1 read", path);
    }
}

TEST_P(zookeeper_exclude, a_writer_who_becomes_a_reader_keeps_the_others_out) {
    // Ours; and Curator's, but for the version that has the defect.
    struct downgrade {
        peer *by, *waits;
        std::string write, read;
    };
    std::vector<downgrade> all{{&*ours, &*java, "lockable_write", "lockable_read"}};
    if (GetParam() == newest_curator)
        all.push_back({&*java, &*ours, "write", "read"});
    for (const auto& [by, waits, write, read] : all) {
        const auto path = "/by-" + write;
        by->ask("lock c1 h1", write, path);
        const auto next = waits->begin("lock c1 h1 write", path);
        ASSERT_TRUE(has_children(path, 2)) << dump(*tree);
        by->ask("lock c1 h1", read, path);
        EXPECT_EQ(tree->children(path).size(), 3U);
        by->ask("unlock c1 h1", write, path);
        ASSERT_TRUE(has_children(path, 2)) << dump(*tree);
        EXPECT_FALSE(waits->has_answered(next, 200ms)) << path;
        by->ask("unlock c1 h1", read, path);
        EXPECT_NO_THROW(waits->end(next)) << path;
        waits->ask("unlock c1 h1 write", path);
    }
}

TEST_P(zookeeper_exclude, permits_go_from_one_to_the_other) {
    for (const auto& [one, other, said] : both_ways()) {
        const auto path = "/" + said;
        for (auto* each : {&one, &other})
            for (const std::string hand : {"c1 h1", "c1 h2"})
                each->ask("permit", hand, "set", path, "2");
        const auto first = one.ask("permit c1 h1 acquire", path);
        const auto second = other.ask("permit c1 h1 acquire", path);
        EXPECT_EQ(one.ask("permit c1 h2 tryacquire", path, "50 -1"), "null");
        EXPECT_EQ(other.ask("permit c1 h2 tryacquire", path, "50 -1"), "null");
        const auto waiting = other.begin("permit c1 h2 acquire", path);
        EXPECT_FALSE(other.has_answered(waiting, 150ms));
        EXPECT_EQ(one.ask("permit c1 h1 release", path, first), "true");
        std::string third;
        ASSERT_NO_THROW(third = other.end(waiting)) << said;
        EXPECT_EQ(one.ask("permit c1 h2 tryacquire", path, "50 -1"), "null");
        EXPECT_EQ(other.ask("permit c1 h1 release", path, second), "true");
        EXPECT_EQ(other.ask("permit c1 h2 release", path, third), "true");
        EXPECT_TRUE(has_children(path + "/leases", 0)) << dump(*tree);
        EXPECT_TRUE(has_children(path + "/locks", 0)) << dump(*tree);
    }
}

TEST_P(zookeeper_exclude, fences_of_ours_grow_with_turns_of_java_between) {
    std::int64_t last = 0;
    for (int i = 0; i < 4; ++i) {
        java->ask("lock c1 h1 mutex /orders");
        const auto of_java = tree->nodes_in("/orders").front().created_by;
        EXPECT_GT(of_java, last);
        java->ask("unlock c1 h1 mutex /orders");
        last = std::stoll(ours->ask("lock c1 h1 fenced /orders"));
        EXPECT_GT(last, of_java);
        EXPECT_EQ(tree->nodes_in("/orders").front().created_by, last);
        ours->ask("unlock c1 h1 fenced /orders");
    }
}

} // namespace
} // namespace holdfast::interop
