// In a cluster slots move and masters die, while somebody holds, waits or counts.

#include "gate/redis_at_fault.hpp"
#include "promise.hpp"
#include "servers/redis_cluster.hpp"

#include <atomic>
#include <random>
#include <thread>

namespace holdfast::servers {
namespace {

class redis_slots : public ::testing::Test {
protected:
    void SetUp() override {
        HOLDFAST_NEEDS(redis_server::missing());
        all.emplace();
    }
    [[nodiscard]] client open_ours(const std::string& options = "") const {
        return open(all->url() + "?quarantine=0" + options);
    }
    /// How often a node has said so.
    [[nodiscard]] static int errors(const redis_server& node, const std::string& word) {
        const auto all_said = node.ask({"INFO", "errorstats"}).text;
        const auto at = all_said.find("errorstat_" + word + ":count=");
        return at == std::string::npos ? 0 : std::stoi(all_said.substr(all_said.find('=', at) + 1));
    }
    [[nodiscard]] int slot(const std::string& key) {
        return redis_cluster::slot_of(all->node(0), key);
    }
    [[nodiscard]] redis_server& another_master(const redis_server& than) {
        for (std::size_t i = 0; i < redis_cluster::masters; ++i)
            if (&all->node(i) != &than)
                return all->node(i);
        throw std::logic_error{"there are three"};
    }
    [[nodiscard]] static std::int64_t listeners(const redis_server& on, const std::string& name) {
        return on.ask({"PUBSUB", "SHARDNUMSUB", "redisson_lock__channel:{" + name + "}"})
            .items.at(1)
            .number;
    }

    /// Else the next move may count the same epoch again, and the nodes never agree who is right.
    [[nodiscard]] bool all_know_the_epoch() {
        const auto epoch = [&](std::size_t i) {
            const auto info = all->node(i).ask({"CLUSTER", "INFO"}).text;
            const auto at = info.find("cluster_current_epoch:");
            return info.substr(at, info.find('\r', at) - at);
        };
        return epoch(0) == epoch(1) && epoch(1) == epoch(2);
    }

    std::optional<redis_cluster> all;
};

TEST_F(redis_slots, that_have_moved_are_found) {
    const auto ours = open_ours();
    mutex orders{ours, "orders"};
    (void)orders.acquire({.wait = 30s}).release();
    auto& from = all->node_of("orders");
    auto& to = another_master(from);
    auto lease = orders.acquire({.wait = 30s, .ttl = 60s});
    all->move_slot(slot("orders"), from, to); // with the lock in it
    EXPECT_FALSE((mutex{open_ours(), "orders"}.try_acquire_for(3s)));
    EXPECT_EQ(lease.release(), release_result::released);
    EXPECT_EQ(to.ask({"EXISTS", "orders"}).number, 0);
    const auto next = orders.try_acquire_for(10s);
    ASSERT_TRUE(next);
    EXPECT_GT(next->fence(), lease.fence()) << promise_broken << "the fence moved along";
    EXPECT_EQ(to.ask({"EXISTS", "orders"}).number, 1);
}

// A script of several keys is refused by Redis (TRYAGAIN) until all of the slot has moved, so who
// wants a lock then waits for that. What is held is kept: a renewal has one key, and follows it.
TEST_F(redis_slots, on_their_way_are_asked_for) {
    const auto ours = open_ours();
    const auto others = open_ours();
    mutex orders{ours, "orders"};
    auto lease = orders.acquire({.wait = 30s, .ttl = 3s});
    auto& from = all->node_of("orders");
    auto& to = another_master(from);
    all->begin_move(slot("orders"), from, to);
    for (const std::string key : {"orders", "redisson_lock_token:{orders}"})
        from.ask({"MIGRATE", "127.0.0.1", std::to_string(to.port()), key, "0", "5000"});
    const auto left = [&] {
        auto link = to.link();
        link.ask({"ASKING"});
        return link.ask({"PTTL", "orders"}).number;
    };
    for (int renewals = 0; renewals < 3; ++renewals) {
        EXPECT_TRUE(eventually([&] { return left() < 2200; }));
        EXPECT_TRUE(eventually([&] { return left() > 2500; }));
    }
    EXPECT_TRUE(lease.held());
    EXPECT_FALSE((mutex{others, "orders"}.try_acquire({.ttl = 30s}))) << "both keys are there";
    EXPECT_EQ(error_of([&] {
                  (void)mutex{others, "new{orders}"}.try_acquire({.ttl = 30s});
              }),
              code(errc::backend_unavailable));
    auto waiter = in_a_thread([&] {
        return mutex{others, "new{orders}"}.acquire({.wait = 60s, .ttl = 30s}).held();
    });
    all->finish_move(slot("orders"), from, to);
    EXPECT_TRUE(outcome(waiter));
    EXPECT_EQ(lease.release(), release_result::released);
    EXPECT_EQ(to.ask({"EXISTS", "orders"}).number, 0);
}

// Who asks just once is not told of it, either, if it is over within his time.
TEST_F(redis_slots, half_moved_are_asked_again_until_they_are_whole) {
    const auto ours = open_ours();
    mutex fresh{ours, "new{orders}"};
    (void)fresh.acquire({.wait = 30s}).release(); // its fence stays, so half of its keys are here
    auto& from = all->node_of("orders");
    auto& to = another_master(from);
    all->begin_move(slot("orders"), from, to);
    const auto before = errors(from, "TRYAGAIN") + errors(to, "TRYAGAIN");
    auto once = in_a_thread([&] { return fresh.try_acquire({.ttl = 30s}).has_value(); });
    ASSERT_TRUE(eventually([&] {
        return errors(from, "TRYAGAIN") + errors(to, "TRYAGAIN") >= before + 2;
    })) << "it was not asked again";
    all->finish_move(slot("orders"), from, to);
    EXPECT_TRUE(outcome(once));
    EXPECT_EQ(to.ask({"EXISTS", "new{orders}"}).number, 0) << "given back when the test let it go";
}

TEST_F(redis_slots, whose_master_has_changed_let_the_old_one_go) {
    const auto ours = open_ours();
    const auto others = open_ours();
    auto& old = all->node_of("orders");
    const auto known_there = [&] {
        return old.ask({"CLIENT", "LIST"}).text.find("name=holdfast-") != std::string::npos;
    };
    auto lease = mutex{ours, "orders"}.acquire({.wait = 30s, .ttl = 10min});
    auto waiter = in_a_thread([&] {
        return mutex{others, "orders"}.acquire({.wait = 60s, .ttl = 10min}).held();
    });
    ASSERT_TRUE(eventually([&] { return listeners(old, "orders") >= 1; }));
    EXPECT_TRUE(known_there());
    all->fail_over(old); // it lives on, as a replica
    EXPECT_EQ(lease.release(), release_result::released);
    EXPECT_TRUE(outcome(waiter));
    EXPECT_TRUE(eventually([&] { return !known_there(); })) << "it is not forgotten";
    EXPECT_TRUE((mutex{ours, "orders"}.try_acquire_for(30s, {.ttl = 10min})));
}

TEST_F(redis_slots, are_announced_to_old_and_new_alike) {
    const auto ours = open_ours("&announce=both");
    const std::string channel = "redisson_lock__channel:{orders}";
    const auto heard = [&](const char* ways) {
        return all->node_of("orders").ask({"PUBSUB", ways, channel}).items.at(1).number;
    };
    for (const std::string way : {"publish", "spublish"}) {
        const auto others = open_ours("&announce=" + way);
        auto theirs = mutex{others, "orders"}.acquire({.wait = 30s, .ttl = 10min});
        auto waiter = in_a_thread([&] {
            return mutex{ours, "orders"}.try_acquire_for(60s, {.ttl = 10min});
        });
        ASSERT_TRUE(eventually([&] { return heard("NUMSUB") == 1 && heard("SHARDNUMSUB") == 1; }));
        EXPECT_EQ(theirs.release(), release_result::released);
        auto lease = outcome(waiter);
        ASSERT_TRUE(lease) << way;
        auto next = in_a_thread([&] {
            return mutex{others, "orders"}.acquire({.wait = 60s, .ttl = 10min}).held();
        });
        ASSERT_TRUE(eventually([&] { return heard("NUMSUB") + heard("SHARDNUMSUB") == 3; }));
        EXPECT_EQ(lease->release(), release_result::released);
        EXPECT_TRUE(outcome(next)) << way;
    }
}

TEST_F(redis_slots, on_their_way_take_what_is_given_back) {
    const auto ours = open_ours();
    auto lease = mutex{ours, "orders"}.acquire({.wait = 30s, .ttl = 10min});
    auto& from = all->node_of("orders");
    auto& to = another_master(from);
    all->begin_move(slot("orders"), from, to);
    { const auto dropped = std::move(lease); }
    EXPECT_FALSE((mutex{ours, "orders"}.try_acquire({.ttl = 1s}))) << "it could not go yet";
    all->finish_move(slot("orders"), from, to);
    EXPECT_TRUE((mutex{open_ours(), "orders"}.try_acquire_for(30s, {.ttl = 10min})))
        << "its release was forgotten";
}

TEST_F(redis_slots, move_to_and_fro_while_everybody_counts) {
    constexpr int each = 150;
    std::atomic<int> counter = 0; // read and written apart: only the lock makes it exact
    std::atomic<int> at_work = 3;
    std::vector<std::future<int>> counters;
    for (int i = 0; i < 3; ++i)
        counters.push_back(in_a_thread([&] {
            const auto ours = open_ours();
            mutex orders{ours, "orders"};
            std::minstd_rand chance{std::random_device{}()};
            for (int n = 0; n < each; ++n) {
                const auto lease = orders.acquire({.wait = 60s, .ttl = 10min});
                const int before = counter;
                std::this_thread::sleep_for(std::chrono::microseconds{chance() % 2000});
                counter = before + 1;
            }
            return --at_work;
        }));
    auto* from = &all->node_of("orders");
    auto* to = &another_master(*from);
    int moves = 0;
    while (at_work > 0 && moves < 10) {
        all->move_slot(slot("orders"), *from, *to);
        std::swap(from, to);
        ++moves;
        ASSERT_TRUE(eventually([&] { return all_know_the_epoch(); }));
    }
    for (auto& one : counters)
        ASSERT_NO_THROW((void)outcome(one));
    EXPECT_EQ(counter, 3 * each) << promise_broken;
    EXPECT_GT(moves, 1);
    std::cout << moves << " moves\n";
}

TEST_F(redis_slots, move_and_who_waits_hears_there) {
    const auto ours = open_ours();
    const auto others = open_ours();
    auto& from = all->node_of("orders");
    auto& to = another_master(from);
    for (int round = 0; round < 2; ++round) { // there, and back to where we had listened before
        auto& here = round == 0 ? from : to;
        auto& there = round == 0 ? to : from;
        auto lease = mutex{ours, "orders"}.acquire({.wait = 30s, .ttl = 10min});
        auto waiter = in_a_thread([&] {
            return mutex{others, "orders"}.acquire({.wait = 50s, .ttl = 10min}).held();
        });
        ASSERT_TRUE(eventually([&] { return listeners(here, "orders") >= 1; }));
        all->move_slot(slot("orders"), here, there);
        EXPECT_TRUE(eventually([&] { return listeners(there, "orders") >= 1; }))
            << "nobody listens where it is now";
        EXPECT_EQ(lease.release(), release_result::released);
        EXPECT_TRUE(outcome(waiter));
    }
}

TEST_F(redis_slots, whose_master_dies_are_held_on_by_its_replica) {
    const auto ours = open_ours();
    const auto others = open_ours();
    auto lease = mutex{ours, "orders"}.acquire({.wait = 30s, .ttl = 120s});
    auto waiter = in_a_thread([&] {
        return mutex{others, "orders"}.acquire({.wait = 90s, .ttl = 10min}).held();
    });
    const auto kept = mutex{ours, "kept{orders}"}.acquire({.wait = 30s, .ttl = 15s});
    auto& old = all->node_of("orders");
    ASSERT_TRUE(eventually([&] { return listeners(old, "orders") >= 1; }));
    ASSERT_TRUE(eventually([&] { return old.ask({"WAIT", "1", "100"}).number == 1; }));
    const auto where = slot("orders");
    old.kill();
    all->until_slot_leaves(where, old);
    EXPECT_TRUE(lease.held());
    const auto deadline = kept.deadline();
    EXPECT_TRUE(eventually([&] { return kept.deadline() > deadline || kept.lost(); }));
    EXPECT_TRUE(kept.held()) << "it was not renewed where it is now";
    auto& now = all->node_of("orders");
    EXPECT_TRUE(eventually([&] { return listeners(now, "orders") >= 1; }))
        << "nobody listens where it is now";
    EXPECT_EQ(lease.release(), release_result::released);
    EXPECT_TRUE(outcome(waiter));
}

} // namespace
} // namespace holdfast::servers
