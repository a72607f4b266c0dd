// The server stands still, dies, comes back with or without its memory, or has a strange clock.

#include "gate/redis_at_fault.hpp"
#include "promise.hpp"

namespace holdfast::servers {
namespace {

class redis_pauses : public redis_at_fault {};

TEST_F(redis_pauses, nobody_hangs_and_the_work_stops_before_the_deadline) {
    start();
    const auto ours = open_ours();
    happening lost, stopped;
    auto lease = mutex{ours, "orders"}.acquire({.wait = 30s, .ttl = 3s, .stop_margin = 1500ms});
    lease.on_lost([&] { lost.happen(); });
    std::atomic<bool> held_when_stopped = false;
    const std::stop_callback callback{lease.stop_token(), [&] {
                                          held_when_stopped = lease.held();
                                          stopped.happen();
                                      }};
    server->pause();
    const auto deadline = lease.deadline();
    EXPECT_TRUE(lease.held());
    const auto begun = boot_clock::now();
    EXPECT_TRUE(error_of([&] { (void)mutex{ours, "other"}.try_acquire_for(300ms, {.ttl = 3s}); }));
    EXPECT_LT(boot_clock::now() - begun, 10s) << "it hung";
    ASSERT_TRUE(stopped.awaited());
    ASSERT_TRUE(lost.awaited());
    EXPECT_GE(boot_clock::now(), deadline);
    EXPECT_FALSE(lease.held());
    EXPECT_TRUE(held_when_stopped || boot_clock::now() > deadline + 1s); // or we were not scheduled
    server->resume();
    EXPECT_TRUE((mutex{ours, "orders"}.try_acquire_for(60s)));
    EXPECT_FALSE(lease.held()) << "lost is lost";
}

TEST_F(redis_pauses, who_waits_is_served_when_it_goes_on) {
    start();
    const auto ours = open_ours("quarantine=0&timeout=500ms");
    const auto others = open_ours();
    auto lease = mutex{others, "orders"}.acquire({.wait = 30s, .ttl = 10min});
    auto waiter = in_a_thread([&] {
        return mutex{ours, "orders"}.acquire({.wait = 60s, .ttl = 10min}).held();
    });
    ASSERT_TRUE(eventually([&] {
        return server->ask({"PUBSUB", "NUMSUB", "redisson_lock__channel:{orders}"})
                   .items.at(1)
                   .number == 1;
    }));
    server->pause();
    EXPECT_TRUE(error_of([&] { (void)mutex{ours, "other"}.try_acquire({.ttl = 1s}); }));
    server->resume();
    static_cast<void>(lease.release());
    EXPECT_TRUE(outcome(waiter));
}

class redis_restarts : public redis_at_fault {};

TEST_F(redis_restarts, an_empty_server_grants_nothing_until_all_it_forgot_has_ended) {
    start();
    constexpr auto quarantine = 5s;
    const auto seen = std::make_shared<sentences>();
    const auto ours = open_ours("quarantine=5s", seen);
    happening lost;
    // Of a server that has just been started nobody knows whether it was there before.
    EXPECT_EQ(error_of([&] {
                  (void)mutex{ours, "orders"}.try_acquire({.ttl = 5s});
              }),
              code(errc::backend_unavailable));
    auto lease = mutex{ours, "orders"}.acquire({.wait = 60s, .ttl = 5s});
    lease.on_lost([&] { lost.happen(); });

    const auto killed = boot_clock::now();
    server->restart(contents::lost);
    const auto others = open_ours("quarantine=5s");
    const auto why = words_of([&] { (void)mutex{others, "orders"}.try_acquire({.ttl = 5s}); });
    EXPECT_NE(why.find("may have forgotten locks; it grants none for another"), std::string::npos)
        << why;
    auto next = mutex{others, "orders"}.acquire({.wait = 60s, .ttl = 5s});
    EXPECT_GE(boot_clock::now() - killed, quarantine);
    ASSERT_TRUE(lost.awaited());
    EXPECT_FALSE(lease.held());
    EXPECT_GT(next.fence(), lease.fence()) << promise_broken;
    EXPECT_TRUE(seen->say("may have forgotten locks"));
}

TEST_F(redis_restarts, with_every_change_on_disk_nothing_is_lost) {
    start({.data = durability::append_only, .settings = {"appendfsync always"}});
    const auto ours = open_ours("quarantine=30s");
    const auto others = open_ours("quarantine=30s");
    auto lease = mutex{ours, "orders"}.acquire({.wait = 30s, .ttl = 60s});
    server->restart(contents::kept);
    EXPECT_FALSE((mutex{others, "orders"}.try_acquire_for(5s)));
    EXPECT_TRUE(lease.held());
    EXPECT_EQ(lease.release(), release_result::released);
    auto next = mutex{others, "orders"}.try_acquire_for(10s);
    ASSERT_TRUE(next) << "it need not be quarantined";
    EXPECT_GT(next->fence(), lease.fence()) << promise_broken;
}

TEST_F(redis_restarts, a_server_that_was_emptied_is_noticed) {
    start();
    const auto seen = std::make_shared<sentences>();
    const auto ours = open_ours("quarantine=4s", seen);
    happening lost;
    auto lease = mutex{ours, "orders"}.acquire({.wait = 60s, .ttl = 3s});
    lease.on_lost([&] { lost.happen(); });
    ASSERT_TRUE(eventually([&] { return exists("holdfast_canary"); }));
    const auto keeps_renewing = mutex{ours, "other"}.acquire({.wait = 60s, .ttl = 3s});
    server->ask({"FLUSHALL"});
    ASSERT_TRUE(lost.awaited());
    EXPECT_FALSE(lease.held());
}

TEST_F(redis_restarts, and_grants_nothing_for_a_while) {
    start();
    const auto seen = std::make_shared<sentences>();
    const auto ours = open_ours("quarantine=10s", seen);
    std::vector<lease> held; // something is renewed all the time, and so the server is watched
    ASSERT_TRUE(eventually([&] {
        auto got = mutex{ours, "held"}.try_acquire_for(30s, {.ttl = 20s});
        if (got)
            held.push_back(std::move(*got));
        return !held.empty();
    }));
    ASSERT_TRUE(eventually([&] { return exists("holdfast_canary"); }));
    server->ask({"FLUSHALL"});
    ASSERT_TRUE(seen->say("has forgotten what it knew"));
    const auto why = words_of([&] { (void)mutex{ours, "orders"}.try_acquire({.ttl = 5s}); });
    EXPECT_NE(why.find("may have forgotten locks"), std::string::npos) << why;
    EXPECT_TRUE(eventually([&] { return held.front().lost(); }));
}

TEST_F(redis_restarts, who_only_waits_notices_it_too) {
    start();
    const auto seen = std::make_shared<sentences>();
    const auto ours = open_ours("quarantine=1s", seen);
    const auto others = open_ours();
    const auto lease = mutex{others, "orders"}.acquire({.wait = 30s, .ttl = 10min, .renew = false});
    auto waiter = in_a_thread([&] {
        return mutex{ours, "orders"}.try_acquire_for(20s, {.ttl = 10min}).has_value();
    });
    ASSERT_TRUE(eventually([&] {
        return exists("holdfast_canary") &&
               server->ask({"PUBSUB", "NUMSUB", "redisson_lock__channel:{orders}"})
                       .items.at(1)
                       .number == 1;
    }));
    server->ask({"FLUSHALL"});
    // And it is as long as the leases that may have been forgotten.
    EXPECT_TRUE(seen->say("has forgotten what it knew; it grants no locks for 600 s"));
    const auto why = words_of([&] { (void)mutex{ours, "orders"}.try_acquire({.ttl = 5s}); });
    EXPECT_NE(why.find("may have forgotten locks"), std::string::npos) << why;
    EXPECT_FALSE(exists("orders"));
    EXPECT_THROW((void)waiter.get(), std::system_error) << "it was granted a second time";
}

TEST_F(redis_restarts, who_does_not_renew_is_told_that_it_is_gone) {
    start();
    const auto ours = open_ours();
    happening lost;
    auto lease = mutex{ours, "orders"}.acquire({.wait = 30s, .ttl = 10min, .renew = false});
    lease.on_lost([&] { lost.happen(); });
    ASSERT_TRUE(eventually([&] { // by then it has looked whether somebody took it before
        return exists("holdfast_canary") &&
               server->ask({"INFO", "commandstats"}).text.find("cmdstat_hexists") !=
                   std::string::npos;
    }));
    server->ask({"FLUSHALL"});
    EXPECT_TRUE(lost.awaited());
}

TEST_F(redis_restarts, who_wants_it_for_long_waits_for_what_others_may_have_had_as_long) {
    start();
    ASSERT_TRUE(eventually([&] {
        const auto info = server->ask({"INFO", "server"}).text;
        return std::stoi(info.substr(info.find("uptime_in_seconds:") + 18)) >= 3;
    }));
    EXPECT_TRUE((mutex{open_ours("quarantine=1s"), "short"}.try_acquire({.ttl = 2s})));
    const auto ours = open_ours("quarantine=1s");
    const auto why = words_of([&] { (void)mutex{ours, "long"}.try_acquire({.ttl = 1h}); });
    EXPECT_NE(why.find("may have forgotten locks; it grants none for another 35"),
              std::string::npos)
        << why;
}

TEST_F(redis_restarts, a_server_that_may_drop_locks_is_refused) {
    start({.settings = {"maxmemory 100mb", "maxmemory-policy allkeys-lru"}});
    const auto ours = open_ours();
    mutex orders{ours, "orders"};
    EXPECT_EQ(error_of([&] { (void)orders.try_acquire({.ttl = 5s}); }),
              code(errc::backend_refused));
    const auto why = words_of([&] { (void)orders.acquire({.wait = 30s, .ttl = 5s}); });
    EXPECT_NE(why.find("maxmemory-policy allkeys-lru"), std::string::npos) << why;
    EXPECT_NE(why.find("eviction=allow"), std::string::npos) << why;
    EXPECT_FALSE(exists("orders"));
    const auto bold = open_ours("quarantine=0&eviction=allow");
    EXPECT_TRUE((mutex{bold, "orders"}.try_acquire({.ttl = 5s})));
}

TEST_F(redis_restarts, a_policy_that_never_comes_to_bear_is_no_reason) {
    start({.settings = {"maxmemory-policy allkeys-lru"}}); // without a limit
    EXPECT_TRUE((mutex{open_ours(), "orders"}.try_acquire({.ttl = 5s})));
    server->restart();
    start({.settings = {"maxmemory 100mb", "maxmemory-policy noeviction"}});
    EXPECT_TRUE((mutex{open_ours(), "orders"}.try_acquire({.ttl = 5s})));
}

TEST_F(redis_restarts, a_server_that_forgot_our_scripts_is_told_them_again) {
    start();
    const auto ours = open_ours();
    const auto others = open_ours();
    const auto forget = [&] { server->ask({"SCRIPT", "FLUSH"}); };
    warm_up(others);
    forget();
    auto lease = mutex{ours, "orders"}.acquire({.wait = 30s, .ttl = 3s});
    forget();
    const auto deadline = lease.deadline();
    EXPECT_TRUE(eventually([&] { return lease.deadline() > deadline || lease.lost(); }));
    EXPECT_TRUE(lease.held()) << "it was not renewed";
    forget();
    EXPECT_FALSE((mutex{others, "orders"}.try_acquire({.ttl = 3s})));
    forget();
    EXPECT_EQ(lease.release(), release_result::released);
    EXPECT_FALSE(exists("orders"));
}

class redis_clock : public redis_at_fault {};

TEST_F(redis_clock, jumps_and_the_fence_tells_who_came_last) {
    start({.clock = server_clock::adjustable});
    const auto first = open_ours();
    const auto second = open_ours();
    const auto third = open_ours();
    fenced_store store;
    auto old = mutex{first, "orders"}.acquire({.wait = 30s, .ttl = 60s});
    EXPECT_TRUE(store.write(old));
    server->shift_wall_clock(1h); // to the server an hour has passed: the lock has ended
    auto next = mutex{second, "orders"}.acquire({.wait = 30s, .ttl = 60s});
    EXPECT_TRUE(old.held()) << "it cannot know yet: this is what fences are for";
    EXPECT_GT(next.fence(), old.fence()) << promise_broken;
    EXPECT_TRUE(store.write(next));
    EXPECT_FALSE(store.write(old)) << "the store refuses whoever came before";
    static_cast<void>(next.release());

    server->shift_wall_clock(0h); // and back
    auto last = mutex{third, "orders"}.acquire({.wait = 30s, .ttl = 60s});
    EXPECT_GT(last.fence(), next.fence())
        << promise_broken << "the clock went back, the fence did not";
    EXPECT_TRUE(store.write(last));
    EXPECT_FALSE(store.write(next));
    EXPECT_NE(old.release(), release_result::released);
    static_cast<void>(last.release());
    server->shift_wall_clock(-1h);
    EXPECT_GT((mutex{first, "orders"}.acquire({.wait = 30s, .ttl = 60s}).fence()), last.fence())
        << promise_broken;
}

TEST_F(redis_clock, that_jumps_costs_nobody_his_turn) {
    start({.clock = server_clock::adjustable});
    const auto ours = open_ours();
    mutex orders{ours, "orders"};
    for (const auto ahead : {0h, 1h, 0h, -1h, 24h}) {
        server->shift_wall_clock(ahead);
        auto lease = orders.try_acquire({.ttl = 30s});
        ASSERT_TRUE(lease) << ahead.count();
        EXPECT_EQ(lease->release(), release_result::released);
        auto fair = orders.try_acquire({.ttl = 30s, .order = queueing::fair});
        ASSERT_TRUE(fair) << ahead.count();
        EXPECT_EQ(fair->release(), release_result::released);
        auto permit = semaphore{ours, "tickets", 1}.try_acquire({.ttl = 30s});
        ASSERT_TRUE(permit) << ahead.count();
        EXPECT_EQ(permit->release(), release_result::released);
    }
}

class redis_doors : public redis_at_fault {
protected:
    void expect(const std::string& url, errc what, const std::string& text) {
        const auto begun = boot_clock::now();
        const auto ours = open(url);
        const auto once = [&] { (void)mutex{ours, "orders"}.try_acquire({.ttl = 30s}); };
        EXPECT_EQ(error_of(once), code(what)) << url;
        EXPECT_NE(words_of(once).find(text), std::string::npos) << words_of(once);
        EXPECT_LT(boot_clock::now() - begun, 20s) << url; // not until some time-out, three times
    }
};

TEST_F(redis_doors, a_wrong_one_says_which_it_is) {
    start({.password = "right"});
    expect("redis://:wrong@" + server->address(), errc::backend_refused, "password");
    expect("redis://" + server->address(), errc::backend_refused, "password");
    expect("redis://nobody:right@" + server->address(), errc::backend_refused, "password");
    redis_server open_door;
    expect("redis://:right@" + open_door.address(), errc::backend_refused, "password");
    expect("redis://" + open_door.address() + "/99", errc::backend_refused, "database");
    const auto port = [] {
        const redis_server gone;
        return gone.port();
    }();
    expect("redis://127.0.0.1:" + std::to_string(port), errc::backend_unavailable, "127.0.0.1");
}

TEST_F(redis_doors, who_waits_for_one_that_never_opens_is_told_at_once) {
    start({.password = "right"});
    const auto ours = open("redis://:wrong@" + server->address());
    EXPECT_EQ(error_of([&] {
                  (void)mutex{ours, "orders"}.acquire({.wait = 10min, .ttl = 30s});
              }),
              code(errc::backend_refused));
}

TEST_F(redis_doors, who_may_not_announce_can_release_all_the_same) {
    start(); // since Redis 7 a new user may use no channel unless somebody thought of it
    server->ask({"ACL", "SETUSER", "app", "on", ">word", "~*", "+@all", "resetchannels"});
    const auto ours = open("redis://app:word@" + server->address() + "?quarantine=0");
    auto lease = mutex{ours, "orders"}.acquire({.wait = 30s, .ttl = 60s});
    EXPECT_EQ(lease.release(), release_result::released);
    EXPECT_FALSE(exists("orders"));
    auto writing = shared_mutex{ours, "orders"}.acquire({.wait = 30s, .ttl = 60s});
    EXPECT_EQ(writing.release(), release_result::released);
    auto permit = semaphore{ours, "tickets", 1}.acquire({.wait = 30s, .ttl = 60s});
    EXPECT_EQ(permit.release(), release_result::released);
    auto fair = mutex{ours, "fair"}.acquire({.wait = 30s, .ttl = 60s, .order = queueing::fair});
    EXPECT_EQ(fair.release(), release_result::released);
}

TEST_F(redis_doors, tls_and_plain_do_not_understand_each_other) {
    start();
    redis_server secret{{.over = encryption::tls}};
    expect("rediss://" + server->address() + "?verify=no", errc::backend_unavailable, "");
    expect("redis://" + secret.address(), errc::backend_unavailable, "");
    expect("rediss://" + secret.address(), errc::backend_unavailable, ""); // whom we do not trust
}

} // namespace
} // namespace holdfast::servers
