// Java and we behind Sentinels and in a cluster: the same locks, and each is woken by the other.

#include "interop/both.hpp"
#include "promise.hpp"
#include "servers/redis_cluster.hpp"
#include "servers/redis_sentinels.hpp"

namespace holdfast::interop {
namespace {

using namespace std::chrono_literals;

class both_places : public ::testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        HOLDFAST_NEEDS(servers::redis_server::missing());
        HOLDFAST_NEEDS(peer::redisson_missing(GetParam()));
        java.emplace(peer::redisson(GetParam()));
        ours.emplace(peer::ours());
    }

    [[nodiscard]] bool is_newest() const { return GetParam() == newest_redisson; }

    /// Redisson before 3.28 finds out by itself, depending on which node answers first.
    [[nodiscard]] std::string chosen_by_java(servers::redis_cluster&, const std::string& client);

    void join(const std::string& client, const std::string& place) {
        for (auto* one : {&*java, &*ours})
            one->ask("client", client, place);
    }

    /// Locks of several names are on different servers of a cluster.
    [[nodiscard]] static std::string name_of(const std::string& begin, const std::string& kind) {
        const auto name = begin + "-" + kind;
        return kind == "multi" ? name + "-a," + name + "-b," + name + "-c" : name;
    }

    void expect_that_they_exclude_and_wake_each_other(const std::string& client) {
        const std::string ten_minutes = "600000";
        const auto hand = client + " h1";
        for (auto* one : {&*java, &*ours})
            for (const std::string kind : {"plain", "fair", "write", "fenced", "multi"}) {
                auto& other = one == &*java ? *ours : *java;
                const auto name = name_of(client + (one == &*java ? "-java" : "-ours"), kind);
                one->ask("lock", hand, kind, name, ten_minutes);
                EXPECT_EQ(other.ask("trylock", hand, kind, name, "0", ten_minutes), "no") << name;
                const auto waiting = other.begin("lock", hand, kind, name, ten_minutes);
                EXPECT_FALSE(other.has_answered(waiting, 200ms)) << name;
                one->ask("unlock", hand, kind, name);
                EXPECT_NO_THROW(other.end(waiting, 20s)) << name;
                EXPECT_NO_THROW(other.ask("unlock", hand, kind, name)) << name;
            }
    }

    /// Nobody but the locks protects the counters, which are all on one server.
    void expect_that_they_count_without_a_mistake(const std::string& client,
                                                  const servers::redis_server& counters) {
        java->ask("permit", client, "h1 set", name_of(client, "permit"), "1");
        for (const std::string kind : {"plain", "fair", "write", "fenced", "permit", "multi"}) {
            const auto counter = "{counter}-" + client + "-" + kind;
            std::vector<std::pair<peer*, peer::ticket>> all;
            for (auto* one : {&*java, &*ours})
                for (const std::string hand : {"h1", "h2"})
                    all.emplace_back(
                        one,
                        one->begin(
                            "guard", client, hand, kind, name_of(client, kind), counter, "20"));
            for (const auto& [whose, ticket] : all)
                ASSERT_NO_THROW(whose->end(ticket)) << counter;
            EXPECT_EQ(counters.ask({"GET", counter}).text, "80") << promise_broken << counter;
        }
    }

    std::optional<peer> java, ours;
};

INSTANTIATE_TEST_SUITE_P(real,
                         both_places,
                         ::testing::ValuesIn(redisson_versions_to_test()),
                         version_as_name);

TEST_P(both_places, behind_sentinels) {
    servers::redis_sentinels all;
    auto& primary = all.primary();
    join("c1",
         "sentinel master=" + std::string{servers::redis_sentinels::name} +
             " address=" + all.sentinel_addresses() + " counter=" + primary.address());
    expect_that_they_exclude_and_wake_each_other("c1");
    expect_that_they_count_without_a_mistake("c1", primary);
}

/// How many wait for this to be announced, and how: NUMSUB or SHARDNUMSUB.
std::int64_t
listeners(servers::redis_cluster& all, const std::string& how, const std::string& name) {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < all.size(); ++i)
        count += all.node(i)
                     .ask({"PUBSUB", how, "redisson_lock__channel:{" + name + "}"})
                     .items.at(1)
                     .number;
    return count;
}

std::string both_places::chosen_by_java(servers::redis_cluster& all, const std::string& client) {
    const auto name = client + "-tried";
    java->ask("lock", client, "h1 plain", name);
    static_cast<void>(java->begin("lock", client, "h2 plain", name));
    std::string way;
    EXPECT_TRUE(cli_tests::comes_true(20s, [&] {
        way = listeners(all, "NUMSUB", name) > 0        ? "publish"
              : listeners(all, "SHARDNUMSUB", name) > 0 ? "spublish"
                                                        : "";
        return !way.empty();
    }));
    java->ask("unlock", client, "h1 plain", name);
    java->ask("unlock", client, "h2 plain", name); // after it has got it
    return way;
}

TEST_P(both_places, in_a_cluster_whichever_way_is_chosen_to_announce) {
    servers::redis_cluster all;
    auto& counters = all.node_of("{counter}");
    const auto place = "cluster address=" + all.addresses() + " counter=" + counters.address();
    std::vector<std::string> ways{"publish", "spublish"};
    if (!is_newest())
        ways = {""}; // it cannot be told
    for (auto way : ways) {
        const auto client = "by-" + way;
        java->ask("client", client, place + (way.empty() ? "" : " announce=" + way));
        if (way.empty())
            way = chosen_by_java(all, client);
        ours->ask("client", client, place + " announce=" + way);
        expect_that_they_exclude_and_wake_each_other(client);
        expect_that_they_count_without_a_mistake(client, counters);

        // And it was that way.
        const auto name = client + "-heard";
        java->ask("lock", client, "h1 plain", name);
        const auto waiting = {java->begin("lock", client, "h2 plain", name),
                              ours->begin("lock", client, "h1 plain", name)};
        const auto used = way == "publish" ? "NUMSUB" : "SHARDNUMSUB";
        const auto other = way == "publish" ? "SHARDNUMSUB" : "NUMSUB";
        EXPECT_TRUE(cli_tests::comes_true(20s, [&] { return listeners(all, used, name) == 2; }))
            << way << ": " << listeners(all, used, name);
        EXPECT_EQ(listeners(all, other, name), 0) << way;
        EXPECT_EQ(waiting.size(), 2U); // they go with their processes
    }
}

class newest_in_places : public both_places {};
INSTANTIATE_TEST_SUITE_P(real,
                         newest_in_places,
                         ::testing::Values(newest_redisson),
                         version_as_name);

TEST_P(newest_in_places, in_a_cluster_of_old_and_new_java) {
    const servers::redis_cluster all;
    const auto address = "address=" + all.addresses();
    java->ask("client old cluster announce=publish", address);
    java->ask("client new cluster", address);
    ours->ask("client both cluster announce=both", address);
    for (const std::string theirs : {"old", "new"})
        for (auto* one : {&*java, &*ours})
            for (const std::string kind : {"plain", "fair", "write"}) {
                auto& other = one == &*java ? *ours : *java;
                const auto client = [&](const peer& p) { return &p == &*java ? theirs : "both"; };
                const auto name = (one == &*java ? "java-" : "ours-") + theirs + "-" + kind;
                one->ask("lock", client(*one), "h1", kind, name, "600000");
                const auto waiting = other.begin("lock", client(other), "h1", kind, name, "600000");
                EXPECT_FALSE(other.has_answered(waiting, 300ms)) << name;
                one->ask("unlock", client(*one), "h1", kind, name);
                EXPECT_NO_THROW(other.end(waiting, 20s)) << name;
                EXPECT_NO_THROW(other.ask("unlock", client(other), "h1", kind, name)) << name;
            }
}

// A fact about 4.7.0, and why the next test is done one way round only.
TEST_P(newest_in_places, redisson_alone_stays_deaf_when_a_slot_moves) {
    servers::redis_cluster all;
    for (const std::string client : {"c1", "c2"})
        java->ask("client", client, "cluster address=" + all.addresses());
    java->ask("lock c1 h1 plain orders 600000");
    const auto waiting = java->begin("lock c2 h1 plain orders 600000");
    EXPECT_FALSE(java->has_answered(waiting, 500ms));
    auto& from = all.node_of("orders");
    auto& to = &from == &all.node(0) ? all.node(1) : all.node(0);
    all.move_slot(servers::redis_cluster::slot_of(from, "orders"), from, to);
    java->ask("unlock c1 h1 plain orders");
    EXPECT_FALSE(java->has_answered(waiting, 3s));
    EXPECT_EQ(to.ask({"EXISTS", "orders"}).number, 0);
}

TEST_P(both_places, in_a_cluster_whose_slots_move) {
    servers::redis_cluster all;
    const auto place = "client c1 cluster address=" + all.addresses();
    java->ask(place);
    ours->ask(place, is_newest() ? "" : "announce=" + chosen_by_java(all, "c1"));
    const auto slot = servers::redis_cluster::slot_of(all.node(0), "orders");
    for (int round = 0; round < 2; ++round) {
        java->ask("lock c1 h1 plain orders 600000");
        const auto waiting = ours->begin("lock c1 h1 plain orders 600000");
        EXPECT_FALSE(ours->has_answered(waiting, 500ms));
        auto& from = all.node_of("orders");
        auto& to = &from == &all.node(0) ? all.node(1) : all.node(0);
        all.move_slot(slot, from, to);
        EXPECT_FALSE(ours->has_answered(waiting, 500ms));
        java->ask("unlock c1 h1 plain orders");
        EXPECT_NO_THROW(ours->end(waiting, 30s)) << round;
        EXPECT_NO_THROW(ours->ask("unlock c1 h1 plain orders"));
    }
}

} // namespace
} // namespace holdfast::interop
