// The primary behind Sentinels changes, also while its replica does not know everything.

#include "gate/redis_at_fault.hpp"
#include "promise.hpp"
#include "servers/redis_sentinels.hpp"

namespace holdfast::servers {
namespace {

class redis_fail_over : public ::testing::Test {
protected:
    void SetUp() override {
        HOLDFAST_NEEDS(redis_server::missing());
        all.emplace();
    }
    [[nodiscard]] client open_ours(const std::string& options = "",
                                   std::shared_ptr<observer> seen = {}) const {
        return open(all->url() + "?quarantine=0" + options, {.observer = std::move(seen)});
    }
    std::optional<redis_sentinels> all;
};

TEST_F(redis_fail_over, what_no_replica_has_is_not_granted_if_one_must) {
    auto& primary = all->primary();
    auto& replica = all->server(1);
    const auto careful = open_ours("&acknowledge=1&acknowledge_within=300ms");
    mutex orders{careful, "orders"};
    {
        const auto lease = orders.try_acquire_for(30s, {.ttl = 60s});
        EXPECT_TRUE(lease) << "in step, it is granted";
    }
    replica.pause();
    EXPECT_EQ(error_of([&] { (void)orders.try_acquire({.ttl = 60s}); }),
              code(errc::backend_unavailable));
    const auto why = words_of([&] { (void)orders.try_acquire({.ttl = 60s}); });
    EXPECT_NE(why.find("fewer than 1 replicas"), std::string::npos) << why;
    EXPECT_TRUE(eventually([&] {
        return primary.ask({"EXISTS", "orders"}).number == 0;
    })) << "what was not granted is given back";
    replica.resume();
    EXPECT_TRUE(orders.try_acquire_for(60s, {.ttl = 60s}));
}

TEST_F(redis_fail_over, a_lock_that_was_not_replicated_is_granted_twice_and_the_fence_tells) {
    auto& old = all->primary();
    auto& replica = all->server(1);
    const auto ours = open_ours();
    const auto others = open_ours();
    fenced_store store;
    (void)mutex{others, "warm"}.acquire({.wait = 30s});
    replica.pause();
    old.ask({"CLIENT", "KILL", "TYPE", "replica"}); // what is written from now on stays here
    auto lease = mutex{ours, "orders"}.acquire({.wait = 30s, .ttl = 60s});
    EXPECT_TRUE(store.write(lease));
    old.kill();
    replica.resume();
    all->until_primary_is_not(old.port());
    auto next = mutex{others, "orders"}.acquire({.wait = 60s, .ttl = 60s});
    EXPECT_GT(next.fence(), lease.fence()) << promise_broken;
    EXPECT_TRUE(store.write(next));
    EXPECT_FALSE(store.write(lease)) << promise_broken << "the store refuses whoever came before";
    EXPECT_TRUE(eventually([&] { return lease.lost(); })) << "its renewal is refused";
}

TEST_F(redis_fail_over, while_two_primaries_answer_we_follow_the_new_one) {
    auto& old = all->primary();
    const auto seen = std::make_shared<sentences>();
    const auto ours = open_ours("", seen);
    (void)mutex{ours, "warm"}.acquire({.wait = 30s});
    const auto of_the_old = open("redis://" + old.address() + "?quarantine=0");
    (void)mutex{of_the_old, "warm-too"}.acquire({.wait = 30s});
    all->fail_over();
    // It is not told that it is none any more, and goes on: whoever knows no Sentinel believes it.
    std::optional<lease> stale;
    static_cast<void>(words_of([&] {
        stale = mutex{of_the_old, "orders"}.try_acquire({.ttl = 60s});
    }));
    ASSERT_TRUE(seen->say("the primary is now"));
    auto next = mutex{ours, "orders"}.acquire({.wait = 30s, .ttl = 60s});
    EXPECT_EQ(all->primary().ask({"EXISTS", "orders"}).number, 1) << "it lives on the new one";
    if (stale) { // it was demoted very quickly if not
        fenced_store store;
        EXPECT_TRUE(store.write(next));
        EXPECT_FALSE(store.write(*stale)) << promise_broken;
    }
}

TEST_F(redis_fail_over, what_is_held_and_waited_for_survives) {
    const auto ours = open_ours();
    const auto others = open_ours();
    auto lease = mutex{ours, "orders"}.acquire({.wait = 30s, .ttl = 120s});
    auto waiter = in_a_thread([&] {
        return mutex{others, "orders"}.acquire({.wait = 90s, .ttl = 10min}).fence();
    });
    auto& old = all->primary();
    ASSERT_TRUE(eventually([&] {
        return old.ask({"PUBSUB", "NUMSUB", "redisson_lock__channel:{orders}"})
                   .items.at(1)
                   .number == 1;
    }));
    ASSERT_TRUE(eventually([&] { return old.ask({"WAIT", "1", "100"}).number == 1; }));
    old.kill();
    all->until_primary_is_not(old.port());
    EXPECT_TRUE(lease.held());
    // Who waits listens to the new one by now; the release is heard there.
    EXPECT_EQ(waiter.wait_for(0s), std::future_status::timeout);
    const auto fence = lease.fence();
    EXPECT_TRUE(eventually([&] {
        return all->primary()
                   .ask({"PUBSUB", "NUMSUB", "redisson_lock__channel:{orders}"})
                   .items.at(1)
                   .number == 1;
    }));
    EXPECT_EQ(lease.release(), release_result::released);
    EXPECT_GT(outcome(waiter), fence) << promise_broken;
}

} // namespace
} // namespace holdfast::servers
