// Curator and we below a chroot, in a namespace, by names that are no paths; and on an ensemble, at
// different members, while these die.

#include "interop/both_on_zookeeper.hpp"
#include "interop/curator.hpp"
#include "interop/fight.hpp"
#include "servers/zookeeper_ensemble.hpp"
#include "servers/zookeeper_tree.hpp"

#include <fstream>
#include <functional>
#include <poll.h>
#include <set>
#include <string>
#include <vector>

namespace holdfast::interop {
namespace {

using namespace std::chrono_literals;

class zookeeper_names : public with_both_on_zookeeper {
protected:
    void expect_that_they_meet(const std::string& of_java,
                               const std::string& as_java_calls_it,
                               const std::string& of_us,
                               const std::string& as_we_call_it) {
        ours->ask("lock", of_us, "h1 mutex", as_we_call_it);
        EXPECT_EQ(java->ask("trylock", of_java, "h1 mutex", as_java_calls_it, "100"), "no");
        ours->ask("unlock", of_us, "h1 mutex", as_we_call_it);
        EXPECT_EQ(java->ask("trylock", of_java, "h1 mutex", as_java_calls_it, "10000"), "yes");
        EXPECT_EQ(ours->ask("trylock", of_us, "h1 mutex", as_we_call_it, "100 -1"), "no");
        java->ask("unlock", of_java, "h1 mutex", as_java_calls_it);
    }
};

INSTANTIATE_TEST_SUITE_P(real,
                         zookeeper_names,
                         ::testing::ValuesIn(curator_versions_to_test()),
                         version_as_name);

TEST_P(zookeeper_names, below_one_chroot_mean_the_same) {
    tree->create("/shop");
    for (auto* one : {&*java, &*ours})
        one->ask("client root zookeeper address=" + server->address() + "/shop");
    expect_that_they_meet("root", "/orders", "root", "/orders");
    expect_that_they_meet("root", "/orders", "c1", "/shop/orders");
    expect_that_they_meet("c1", "/shop/orders/42", "root", "/orders/42");
}

TEST_P(zookeeper_names, in_a_namespace_begin_with_it) {
    java->ask("client space zookeeper namespace=shop address=" + server->address());
    expect_that_they_meet("space", "/orders", "c1", "/shop/orders");
}

TEST_P(zookeeper_names, that_are_no_paths_are_one_node_below_the_root) {
    expect_that_they_meet("c1", "/orders", "c1", "orders");
    expect_that_they_meet("c1", "/shop%2Forders", "c1", "shop/orders");
}

TEST_P(zookeeper_names, of_locks_that_curator_would_not_find_its_place_in_are_refused) {
    const auto is_refused = [&](const std::string& kind, const std::string& path) {
        try {
            ours->ask("trylock c1 h1", kind, path, "0 -1");
            return false;
        } catch (const std::runtime_error&) {
            return true;
        }
    };
    java->ask("lock c1 h1 semaphore_mutex /semaphore");
    EXPECT_TRUE(is_refused("mutex", "/semaphore")) << "it has leases and locks below it";
    java->ask("lock c1 h1 mutex /shop/orders");
    EXPECT_TRUE(is_refused("mutex", "/shop")) << "another lock lies below it";
    java->ask("lock c1 h1 write /pages");
    EXPECT_TRUE(is_refused("mutex", "/pages")) << "Curator would sort these by their whole names";
    tree->create("/kazoo");
    tree->create("/kazoo/0123456789abcdef0123456789abcdef__lock__0000000000");
    EXPECT_TRUE(is_refused("mutex", "/kazoo"));
    EXPECT_TRUE(has_children("/kazoo", 1)) << "nothing of ours is left: " << dump(*tree);
    EXPECT_TRUE(has_children("/pages", 1)) << dump(*tree);
    EXPECT_TRUE(has_children("/shop", 1)) << dump(*tree);
    EXPECT_TRUE(has_children("/semaphore", 2)) << dump(*tree);
}

// ---------------------------------------------------------------------------------- three servers

class zookeeper_ensembles : public parties {
protected:
    void SetUp() override {
        HOLDFAST_NEEDS(servers::zookeeper_server::missing());
        HOLDFAST_NEEDS(peer::curator_missing(GetParam()));
        ensemble.emplace();
        java.emplace(peer::curator(GetParam()));
        ours.emplace(peer::ours());
    }

    void open(peer& one, const std::string& client, const std::string& addresses) {
        one.ask("client", client, "zookeeper session_ms=20000 address=" + addresses);
    }

    void expect_that_they_exclude_and_wake_each_other(const std::string& path) {
        for (const auto& [one, other, said] : both_ways()) {
            one.ask("lock c h1 mutex", path);
            const auto waiting = other.begin("lock c h1 mutex", path);
            EXPECT_FALSE(other.has_answered(waiting, 150ms)) << said;
            one.ask("unlock c h1 mutex", path);
            EXPECT_NO_THROW(other.end(waiting)) << said;
            other.ask("unlock c h1 mutex", path);
        }
    }

    /// What this member says that there is.
    std::set<std::string> seen_by(std::size_t member) {
        servers::zookeeper_tree tree{ensemble->member(member).address()};
        std::set<std::string> all;
        for (const auto& node : tree.below("/"))
            all.insert(node.path + " of " + node.data);
        return all;
    }

    /// What one member has for seconds and another has not, all that time.
    std::string disagreement() {
        std::vector<std::set<std::string>> looks[2];
        for (auto& look : looks) {
            for (std::size_t i = 0; i < servers::zookeeper_ensemble::members; ++i)
                look.push_back(seen_by(i));
            ::poll(nullptr, 0, 2000);
        }
        std::string all;
        for (std::size_t i = 0; i < looks[0].size(); ++i)
            for (std::size_t j = 0; j < looks[0].size(); ++j)
                for (const auto& node : looks[0][i])
                    if (looks[1][i].contains(node) && !looks[0][j].contains(node) &&
                        !looks[1][j].contains(node))
                        all += "member " + std::to_string(i) + " has " + node + ", and member " +
                               std::to_string(j) + " has not. ";
        return all;
    }

    std::optional<servers::zookeeper_ensemble> ensemble;
};

INSTANTIATE_TEST_SUITE_P(real,
                         zookeeper_ensembles,
                         ::testing::ValuesIn(curator_versions_to_test()),
                         version_as_name);

TEST_P(zookeeper_ensembles, are_one_place_whichever_member_one_talks_to) {
    const auto follows = ensemble->follower();
    const auto too = ensemble->follower(follows);
    open(*java, "c", ensemble->member(follows).address());
    open(*ours, "c", ensemble->member(too).address());
    expect_that_they_exclude_and_wake_each_other("/orders");
    const servers::folder room;
    const auto of_java = java->begin("guard c h1 mutex /ring", room / "counter", "100");
    const auto of_us = ours->begin("guard c h1 mutex /ring", room / "counter", "100");
    EXPECT_NO_THROW(java->end(of_java));
    EXPECT_NO_THROW(ours->end(of_us));
    int number = 0;
    std::ifstream{room / "counter"} >> number;
    EXPECT_EQ(number, 200);
}

TEST_P(zookeeper_ensembles, keep_locks_and_queues_while_members_die) {
    for (auto* one : {&*java, &*ours})
        open(*one, "c", ensemble->addresses());
    const auto the_leader_dies = [this] {
        const auto dies = ensemble->leader();
        ensemble->member(dies).kill();
        static_cast<void>(ensemble->leader());
        ensemble->restart(dies);
    };
    const auto all_die = [this] { ensemble->restart_all(); };
    int time = 0;
    for (const std::function<void()>& what : {std::function<void()>{the_leader_dies}, {all_die}})
        for (const auto& [one, other, said] : both_ways()) {
            const auto path = "/" + said + std::to_string(++time);
            one.ask("lock c h1 mutex", path);
            const auto waiting = other.begin("lock c h1 mutex", path);
            EXPECT_FALSE(other.has_answered(waiting, 300ms)) << path;
            what();
            EXPECT_FALSE(other.has_answered(waiting, 300ms)) << path;
            one.ask("unlock c h1 mutex", path);
            EXPECT_NO_THROW(other.end(waiting)) << path;
            other.ask("unlock c h1 mutex", path);
        }
}

TEST_P(zookeeper_ensembles, do_not_let_them_miscount_while_members_die) {
    const servers::folder room;
    const auto counted = [&](const std::string& ring) {
        std::int64_t number = 0;
        std::ifstream{room / ring} >> number;
        return number;
    };
    // An election may last as long as a machine is busy, and Curator gives up after its retries.
    a_fight fight{{"zookeeper session_ms=20000 retries=29 address=" + ensemble->addresses(),
                   [](const std::string& ring) { return "/of-" + ring; },
                   [&](const std::string& ring) { return room / ring; },
                   counted},
                  {"mutex", "read", "write", "permit"}};
    fight.enter(*java);
    fight.enter(*ours);
    // A Curator that loses the answer to a create may lose the node, and say NullPointerException;
    // as long as its session lives, that node is in everybody's way.
    const auto replace_java_if_confused = [&] {
        fight.replace_who_is_confused(java,
                                      [](auto& dead) { dead.emplace(peer::curator(GetParam())); });
    };
    const auto until = boot_clock::now() + (takes_its_time() ? 120s : 5s);
    std::string where;
    do {
        where = fight.stands_still(replace_java_if_confused);
        if (!where.empty())
            break;
        const auto dies = ensemble->leader();
        ensemble->member(dies).kill();
        static_cast<void>(ensemble->leader());
        where = fight.stands_still(replace_java_if_confused);
        ensemble->restart(dies);
        replace_java_if_confused();
        fight.expect_that_all_stay(0ms);
    } while (boot_clock::now() < until && where.empty() && !HasFailure());
    if (where.empty())
        return;
    // Seen with 3.8.0: a node whose removal was confirmed is still there on one of them. Then no
    // client can be right.
    if (const auto what = disagreement(); !what.empty())
        GTEST_SKIP() << "ZooKeeper's own servers disagree: " << what;
    FAIL() << where;
}

} // namespace
} // namespace holdfast::interop
