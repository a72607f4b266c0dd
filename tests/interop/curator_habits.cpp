// How the real Curator decides whose turn it is, and what it believes when its session has ended.

#include "interop/curator.hpp"
#include "servers/folder.hpp"

#include <fstream>

namespace holdfast::interop {
namespace {

using namespace std::chrono_literals;

class curator_habits : public with_curator {
protected:
    [[nodiscard]] bool comes_through(const std::string& client, const std::string& states) {
        return cli_tests::comes_true(60s,
                                     [&] { return java->ask("states", client).ends_with(states); });
    }
    [[nodiscard]] bool gets_it() {
        if (java->ask("trylock c1 h1 mutex /orders 0") == "no")
            return false;
        java->ask("unlock c1 h1 mutex /orders");
        return true;
    }
    void comes(const std::string& name) { tree->create("/orders/" + name); }
    void goes(const std::string& name) { tree->remove("/orders/" + name); }
};

INSTANTIATE_TEST_SUITE_P(real,
                         curator_habits,
                         ::testing::ValuesIn(curator_versions_to_test()),
                         version_as_name);

TEST_P(curator_habits, every_child_counts_by_what_follows_its_last_lock_dash) {
    tree->create("/orders");
    const std::vector<std::string> before{"lock-0000000000",
                                          "x-lock-0000000000",
                                          "lock-9-lock-0",
                                          "lock--2147483648",
                                          "0",
                                          "-a",
                                          "00000000000000000000000000000000__lock__0000000009"};
    for (const auto& name : before) {
        comes(name);
        EXPECT_FALSE(gets_it()) << name;
        goes(name);
    }
    const std::vector<std::string> behind{"lock-9999999999",
                                          "lock-0-lock-9",
                                          "lock-",
                                          "leases",
                                          "Lock-0000000000",
                                          "_c_x-__WRIT__0000000000",
                                          "f0000000000000000000000000000000__lock__0000000000"};
    for (const auto& name : behind) {
        comes(name);
        EXPECT_EQ(gets_it(), name != "lock-") << name; // the empty text comes first
        goes(name);
    }
}

TEST_P(curator_habits, grants_are_in_the_order_of_the_numbers) {
    java->ask("lock c1 h0 mutex /orders");
    std::vector<std::pair<std::string, peer::ticket>> line;
    for (const std::string hand : {"c2 h1", "c1 h1", "c2 h2", "c1 h2"}) {
        line.emplace_back(hand, java->begin("lock", hand, "mutex /orders"));
        ASSERT_TRUE(cli_tests::comes_true(
            20s, [&] { return tree->children("/orders").size() == line.size() + 1; }));
    }
    java->ask("unlock c1 h0 mutex /orders");
    for (const auto& [hand, ticket] : line) {
        java->end(ticket);
        for (const auto& [next, of_next] : line)
            EXPECT_FALSE(&of_next > &ticket && java->has_answered(of_next)) << next;
        java->ask("unlock", hand, "mutex /orders");
    }
}

TEST_P(curator_habits, who_loses_its_session_still_believes_to_hold) {
    java->ask("lock c1 h1 mutex /orders");
    java->ask("lock c1 h1 write /bills");
    java->ask("lock c1 h1 semaphore_mutex /users");
    const auto next = java->begin("lock c2 h1 mutex /orders");
    expire("c1");
    java->end(next);
    EXPECT_TRUE(comes_through("c1", "CONNECTED,SUSPENDED,LOST,RECONNECTED"))
        << java->ask("states c1");
    EXPECT_EQ(java->ask("held c1 h1 mutex /orders"), "true true");
    EXPECT_EQ(java->ask("held c1 h1 write /bills"), "true true");
    EXPECT_EQ(java->ask("held c1 h1 semaphore_mutex /users"), "true true");
    java->ask("lock c1 h1 mutex /orders"); // and again, without asking anybody
    expect("/bills\n/orders\n  _c_*-lock-0000000001 c2 = ADDRESS\n/users\n/users/leases\n/users/"
           "locks\n");
    java->ask("unlock c1 h1 mutex /orders");
    java->ask("unlock c1 h1 mutex /orders"); // its node is gone, and that is fine with it
    EXPECT_EQ(java->ask("held c1 h1 mutex /orders"), "false false");
}

TEST_P(curator_habits, who_loses_its_session_in_a_queue_lines_up_again) {
    java->ask("lock c1 h1 mutex /orders");
    const auto waiting = java->begin("lock c2 h1 mutex /orders");
    expect("/orders\n"
           "  _c_*-lock-0000000000 c1 = ADDRESS\n"
           "  _c_*-lock-0000000001 c2 = ADDRESS\n");
    ASSERT_TRUE(comes_to_wait(*java, "c2", *server));
    expire("c2");
    EXPECT_TRUE(comes_through("c2", "CONNECTED,SUSPENDED,LOST,RECONNECTED"))
        << java->ask("states c2");
    call("c2");
    expect("/orders\n"
           "  _c_*-lock-0000000000 c1 = ADDRESS\n"
           "  _c_*-lock-0000000002 c2 = ADDRESS\n");
    java->ask("unlock c1 h1 mutex /orders");
    java->end(waiting);
    java->ask("unlock c2 h1 mutex /orders");
    expect("/orders\n");
}

TEST_P(curator_habits, whose_node_is_removed_is_not_told) {
    java->ask("lock c1 h1 mutex /orders");
    const auto next = java->begin("lock c2 h1 mutex /orders");
    tree->remove(tree->nodes_in("/orders").front().path);
    java->end(next);
    EXPECT_EQ(java->ask("held c1 h1 mutex /orders"), "true true");
    EXPECT_EQ(java->ask("held c2 h1 mutex /orders"), "true true");
}

TEST_P(curator_habits, what_the_killed_held_is_free_after_their_session) {
    auto other = peer::curator(GetParam());
    other.ask("client d zookeeper session_ms=2000 address=" + server->address());
    other.ask("lock d h1 mutex /orders");
    other.ask("lock d h1 write /bills");
    other.ask("lock d h1 semaphore_mutex /users");
    const auto waiting = {java->begin("lock c1 h1 mutex /orders"),
                          java->begin("lock c1 h2 read /bills"),
                          java->begin("lock c1 h3 semaphore_mutex /users")};
    for (const auto one : waiting)
        EXPECT_FALSE(java->has_answered(one, 100ms));
    other.kill();
    for (const auto one : waiting)
        EXPECT_NO_THROW(java->end(one));
}

// -------------------------------------------------------------------------------------- counting

class counting {
public:
    [[nodiscard]] std::string of(const std::string& kind) const { return room_ / kind; }
    [[nodiscard]] std::string read(const std::string& kind) const {
        std::int64_t number = -1;
        std::ifstream{of(kind)} >> number;
        return std::to_string(number);
    }

private:
    servers::folder room_;
};

const std::vector<std::string> kinds{"mutex", "semaphore_mutex", "write", "permit", "multi"};

std::string path_of(const std::string& kind) {
    return kind == "multi" ? "/of-m1,/of-m2,/of-m3" : "/of-" + kind;
}

TEST_P(curator_habits, they_count_without_a_mistake) {
    const counting counters;
    for (const std::string client : {"c1", "c2"})
        java->ask("permit", client, "h1 set /of-permit 1");
    for (const auto& kind : kinds) {
        std::vector<peer::ticket> all;
        for (const std::string hand : {"c1 h1", "c1 h2", "c2 h1", "c2 h2"})
            all.push_back(java->begin("guard", hand, kind, path_of(kind), counters.of(kind), "20"));
        for (const auto one : all)
            EXPECT_NO_THROW(java->end(one)) << kind;
        EXPECT_EQ(counters.read(kind), "80") << kind;
    }
}

TEST_P(curator_habits, a_counter_without_a_lock_would_be_wrong) {
    const counting counters;
    const auto one = java->begin("count c1 h1 mutex /this", counters.of("none"), "200");
    const auto other = java->begin("count c2 h1 mutex /that", counters.of("none"), "200");
    java->end(one);
    java->end(other);
    EXPECT_NE(counters.read("none"), "400");
}

TEST(curator_versions, exclude_each_other) {
    HOLDFAST_NEEDS(servers::zookeeper_server::missing());
    HOLDFAST_NEEDS(peer::curator_missing(newest_curator));
    HOLDFAST_NEEDS(peer::curator_missing(older_curator));
    const servers::zookeeper_server server;
    const counting counters;
    auto newest = peer::curator(newest_curator);
    auto older = peer::curator(older_curator);
    for (auto* java : {&newest, &older}) {
        java->ask("client c zookeeper address=" + server.address());
        java->ask("permit c h set /of-permit 1");
    }
    for (const auto& kind : kinds) {
        const auto one = newest.begin("guard c h", kind, path_of(kind), counters.of(kind), "50");
        const auto other = older.begin("guard c h", kind, path_of(kind), counters.of(kind), "50");
        EXPECT_NO_THROW(newest.end(one)) << kind;
        EXPECT_NO_THROW(older.end(other)) << kind;
        EXPECT_EQ(counters.read(kind), "100") << kind;
    }
}

} // namespace
} // namespace holdfast::interop
