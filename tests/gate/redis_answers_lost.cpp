// The request arrives, its answer does not; or it arrives when nobody expects it any more.

#include "gate/redis_at_fault.hpp"
#include "interop/dump.hpp"

namespace holdfast::servers {
namespace {

class redis_answers_lost : public redis_at_fault {
protected:
    void SetUp() override {
        redis_at_fault::SetUp();
        if (!IsSkipped() && !HasFatalFailure())
            start();
    }
    [[nodiscard]] std::int64_t last_fence(const std::string& name) const {
        return std::stoll(server->ask({"GET", "redisson_lock_token:{" + name + "}"}).text);
    }
};

// Long enough that nothing in these tests happens because it has passed.
constexpr acquire_options once{.ttl = 10min};
constexpr acquire_options with_patience{.wait = 60s, .ttl = 10min};

TEST_F(redis_answers_lost, who_asked_once_does_not_hold_and_leaves_nothing) {
    const auto ours = open_ours();
    warm_up(ours);
    const auto lost_with = [&](const std::string& name, auto ask) {
        const auto before = way->cuts();
        way->cut_at(direction::to_server, name, last_bytes::delivered);
        EXPECT_EQ(error_of(ask), code(errc::outcome_unknown)) << name;
        EXPECT_EQ(way->cuts(), before + 1) << name;
        EXPECT_TRUE(eventually([&] { return !exists(name); })) << name << " stays behind";
    };
    lost_with("of-mutex", [&] { (void)mutex{ours, "of-mutex"}.try_acquire(once); });
    lost_with("of-fair", [&] {
        auto fair = once;
        fair.order = queueing::fair;
        (void)mutex{ours, "of-fair"}.try_acquire(fair);
    });
    lost_with("of-writer", [&] { (void)shared_mutex{ours, "of-writer"}.try_acquire(once); });
    lost_with("of-reader", [&] { (void)shared_mutex{ours, "of-reader"}.try_acquire_shared(once); });
    EXPECT_EQ(server->ask({"KEYS", "*rwlock_timeout*"}).items.size(), 0U);
}

TEST_F(redis_answers_lost, a_permit_comes_back) {
    const auto ours = open_ours();
    warm_up(ours);
    way->cut_at(direction::to_server, "tickets", last_bytes::delivered);
    EXPECT_EQ(error_of([&] {
                  (void)semaphore{ours, "tickets", 2}.try_acquire(once);
              }),
              code(errc::outcome_unknown));
    EXPECT_TRUE(eventually([&] { return server->ask({"GET", "tickets"}).text == "2"; }));
    EXPECT_EQ(server->ask({"ZCARD", "{tickets}:timeout"}).number, 0);
}

TEST_F(redis_answers_lost, who_waits_gets_what_was_granted_with_one_fence) {
    const auto ours = open_ours();
    warm_up(ours);
    for (const auto order : {queueing::plain, queueing::fair}) {
        const std::string name = order == queueing::fair ? "of-fair" : "of-plain";
        auto how = with_patience;
        how.order = order;
        way->cut_at(direction::to_server, name, last_bytes::delivered);
        const auto cuts = way->cuts();
        const auto lease = mutex{ours, name}.acquire(how);
        EXPECT_EQ(way->cuts(), cuts + 1);
        EXPECT_TRUE(lease.held());
        EXPECT_EQ(last_fence(name), lease.fence().value() + 64) << "one block of fences was drawn";
        EXPECT_EQ(server->ask({"HVALS", name}).items.at(0).text, "1") << "held once";
    }
    way->cut_at(direction::to_server, "of-writer", last_bytes::delivered);
    const auto writing = shared_mutex{ours, "of-writer"}.acquire(with_patience);
    EXPECT_EQ(last_fence("of-writer"), writing.fence().value() + 64);
    way->cut_at(direction::to_server, "tickets", last_bytes::delivered);
    const auto permit = semaphore{ours, "tickets", 3}.acquire(with_patience);
    EXPECT_EQ(server->ask({"GET", "tickets"}).text, "2") << "one permit is out";
    EXPECT_EQ(way->cuts(), 4U);
}

TEST_F(redis_answers_lost, a_release_is_repeated) {
    const auto ours = open_ours();
    mutex orders{ours, "orders"};
    auto lease = orders.acquire(with_patience);
    // Neither arrives: the request is lost with the connection, and made again on the next.
    way->cut_at(direction::to_server, "orders", last_bytes::lost);
    static_cast<void>(lease.release());
    EXPECT_EQ(way->cuts(), 1U);
    EXPECT_TRUE(eventually([&] { return !exists("orders"); }));
}

TEST_F(redis_answers_lost, a_dropped_lease_is_free_although_the_way_was_cut) {
    const auto ours = open_ours();
    { // its release goes ahead of nothing, and nobody waits for its answer
        const auto lease = mutex{ours, "orders"}.acquire(with_patience);
        way->cut_at(direction::to_server, "orders", last_bytes::lost);
    }
    EXPECT_TRUE(eventually([&] { return !exists("orders"); }));
    EXPECT_EQ(way->cuts(), 1U);
}

class redis_late_requests : public redis_answers_lost {
protected:
    /// Until a command with this word came in.
    [[nodiscard]] static std::string arrival(interop::monitor& commands, const std::string& word) {
        std::string arrived;
        static_cast<void>(eventually([&] {
            for (const auto& line : commands.so_far())
                arrived += line + '\n';
            return arrived.find(word) != std::string::npos;
        }));
        return arrived;
    }
};

TEST_F(redis_late_requests, who_was_taken_back_on_another_way_takes_nothing) {
    const auto ours = open_ours("quarantine=0&timeout=500ms");
    warm_up(ours);
    interop::monitor commands{*server};
    way->hold(direction::to_server, 0);
    EXPECT_TRUE(error_of([&] {
        (void)mutex{ours, "orders"}.try_acquire_for(300ms, {.ttl = 10min});
    }));
    // The old way is closed, so what comes in takes a new one: the withdrawal, until it is certain.
    EXPECT_NE(arrival(commands, "\"orders\""), "");
    ASSERT_TRUE(eventually([&] { return commands.so_far().empty(); }));
    EXPECT_GE(way->connections(), 2U);
    way->pass(direction::to_server, 0);
    const auto late = arrival(commands, "\"orders\"");
    ASSERT_NE(late.find("\"EVALSHA\""), std::string::npos) << "the request never came";
    EXPECT_EQ(late.find("hset"), std::string::npos) << late;
    EXPECT_FALSE(exists("orders")) << "nobody knows of this lock";
    EXPECT_TRUE((mutex{ours, "orders"}.try_acquire_for(30s)));
}

TEST_F(redis_late_requests, nor_if_the_server_was_far_away_when_we_met) {
    // What we think its clock is must not be wrong by the time the question was under way.
    way->delay(direction::to_server, 2500ms);
    const auto ours = open_ours("quarantine=0&connect_timeout=30s&timeout=10s");
    warm_up(ours);
    way->delay(direction::to_server, 0ms);
    warm_up(ours);
    way->hold(direction::to_server, 0);
    EXPECT_TRUE(error_of([&] {
        (void)mutex{ours, "orders"}.try_acquire_for(300ms, {.ttl = 10min});
    }));
    const auto asked = boot_clock::now();
    // By now a withdrawal would be certain, and the request is still to come.
    ASSERT_TRUE(eventually([&] { return boot_clock::now() > asked + 500ms; }));
    interop::monitor commands{*server};
    way->pass(direction::to_server, 0);
    EXPECT_NE(arrival(commands, "\"orders\"").find("\"EVALSHA\""), std::string::npos);
    EXPECT_TRUE(eventually([&] { return !exists("orders"); })) << "nobody knows of this lock";
}

TEST_F(redis_late_requests, nor_if_the_servers_clock_was_set_meanwhile) {
    start({.clock = server_clock::adjustable});
    const auto ours = open_ours("quarantine=0&timeout=500ms");
    const auto held = mutex{ours, "held"}.acquire({.wait = 30s, .ttl = 10min});
    const auto looks = [&] {
        const auto all = server->ask({"INFO", "commandstats"}).text;
        const auto at = all.find("cmdstat_time:calls=");
        return at == std::string::npos ? 0 : std::stoi(all.substr(at + 19));
    };
    // Two greetings, the script, and the first look: from here on no line is opened any more.
    ASSERT_TRUE(eventually([&] { return looks() >= 4; })) << "nobody looks at the clock";
    server->shift_wall_clock(-1h);
    const auto before = looks();
    ASSERT_TRUE(eventually([&] { return looks() >= before + 2; }));
    way->hold(direction::to_server, 0);
    EXPECT_TRUE(error_of([&] {
        (void)mutex{ours, "orders"}.try_acquire_for(300ms, {.ttl = 10min});
    }));
    const auto asked = boot_clock::now();
    ASSERT_TRUE(eventually([&] { return boot_clock::now() > asked + 1s; }));
    interop::monitor commands{*server};
    way->pass(direction::to_server, 0);
    const auto late = arrival(commands, "\"orders\"");
    EXPECT_NE(late.find("\"EVALSHA\""), std::string::npos) << "the request never came";
    EXPECT_EQ(late.find("hset"), std::string::npos) << late;
    EXPECT_TRUE(eventually([&] { return !exists("orders"); })) << "nobody knows of this lock";
}

} // namespace
} // namespace holdfast::servers
