// semaphore=plain: a number of free permits that Java shares, and a record of those that are ours.

#include "gate/redis_at_fault.hpp"

namespace holdfast::servers {
namespace {

class redis_semaphores : public redis_at_fault {
protected:
    void SetUp() override {
        redis_at_fault::SetUp();
        if (!IsSkipped() && !HasFatalFailure())
            start();
    }
    [[nodiscard]] client open_plain() const { return open_ours("quarantine=0&semaphore=plain"); }
    [[nodiscard]] std::string free() const { return server->ask({"GET", "seats"}).text; }
};

TEST_F(redis_semaphores, an_answer_that_was_lost_costs_no_permit) {
    const auto ours = open_plain();
    warm_up(ours);
    semaphore seats{ours, "seats", 2};
    way->cut_at(direction::to_server, "seats", last_bytes::delivered);
    auto lease = seats.acquire({.wait = 60s, .ttl = 10min});
    EXPECT_EQ(way->cuts(), 1U);
    EXPECT_TRUE(lease.held());
    EXPECT_EQ(free(), "1") << "asked for twice, and taken twice";
    EXPECT_EQ(lease.release(), release_result::released);
    EXPECT_EQ(free(), "2");
}

TEST_F(redis_semaphores, a_permit_is_renewed_and_not_given_back_twice) {
    const auto ours = open_plain();
    auto lease = semaphore{ours, "seats", 1}.acquire({.wait = 30s, .ttl = 3s});
    const auto deadline = lease.deadline();
    EXPECT_TRUE(eventually([&] { return lease.deadline() > deadline + 3s || lease.lost(); }));
    EXPECT_TRUE(lease.held());
    EXPECT_FALSE((semaphore{open_plain(), "seats", 1}.try_acquire({.ttl = 3s})));
    EXPECT_EQ(lease.release(), release_result::released);
    EXPECT_EQ(free(), "1");
}

TEST_F(redis_semaphores, what_the_dead_had_comes_back_and_never_makes_more_than_there_are) {
    const auto ours = open_plain();
    auto lost = semaphore{ours, "seats", 2}.acquire({.wait = 30s, .ttl = 1s, .renew = false});
    EXPECT_EQ(free(), "1");
    EXPECT_TRUE(eventually([&] { return lost.lost(); }));
    server->ask({"INCR", "seats"}); // somebody made up for it by hand
    auto next = semaphore{ours, "seats", 2}.acquire({.wait = 30s, .ttl = 1min});
    EXPECT_EQ(free(), "1") << "two there are, and one is out";
    EXPECT_EQ(next.release(), release_result::released);
    EXPECT_EQ(free(), "2");
    lost = semaphore{ours, "seats", 2}.acquire({.wait = 30s, .ttl = 1s, .renew = false});
    next = semaphore{ours, "seats", 2}.acquire({.wait = 30s, .ttl = 1min});
    EXPECT_EQ(free(), "0");
    EXPECT_TRUE((semaphore{open_plain(), "seats", 2}.try_acquire_for(30s, {.ttl = 1min})));
}

TEST_F(redis_semaphores, whoever_must_not_lose_permits_is_refused) {
    const auto ours = open_plain();
    EXPECT_TRUE(ours.capabilities().loses_permits);
    EXPECT_EQ(error_of([&] { ours.require(guarantee::survives_death); }), code(errc::unsupported));
    EXPECT_EQ(error_of([&] {
                  (void)semaphore{ours, "seats", 1}.acquire(
                      {.wait = 30s, .require = guarantee::survives_death});
              }),
              code(errc::unsupported));
    EXPECT_TRUE(
        (mutex{ours, "orders"}.try_acquire_for(30s, {.require = guarantee::survives_death})))
        << "of locks nothing is lost";
    EXPECT_FALSE(exists("seats"));
    open_ours().require(guarantee::survives_death);
}

TEST_F(redis_semaphores, an_operator_sees_ours_and_takes_them) {
    const auto ours = open_plain();
    happening lost;
    auto lease = semaphore{ours, "seats", 2}.acquire({.wait = 30s, .ttl = 1min});
    lease.on_lost([&] { lost.happen(); });
    const auto all = ours.inspect("sea*");
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all.front().name, "seats");
    EXPECT_EQ(all.front().holders.size(), 1U);
    EXPECT_EQ(ours.force_release("seats"), 1U);
    EXPECT_TRUE(lost.awaited());
    EXPECT_EQ(free(), "2");
}

class redis_force : public redis_at_fault {};

TEST_F(redis_force, whoever_looks_whether_it_was_taken_changes_nothing) {
    start();
    const auto ours = open_ours();
    happening lost;
    const acquire_options explicit_lease{.wait = 30s, .ttl = 10min, .renew = false};
    std::vector<lease> kept;
    kept.push_back(mutex{ours, "plain"}.acquire(explicit_lease));
    kept.push_back(shared_mutex{ours, "writing"}.acquire(explicit_lease));
    kept.push_back(shared_mutex{ours, "reading"}.acquire_shared(explicit_lease));
    kept.push_back(semaphore{ours, "seats", 1}.acquire(explicit_lease));
    auto taken = mutex{ours, "taken"}.acquire(explicit_lease);
    taken.on_lost([&] { lost.happen(); });
    for (const auto* key : {"plain", "writing", "reading"})
        server->ask({"PEXPIRE", key, "300000"});
    const auto limit = server->ask({"ZRANGE", "{seats}:timeout", "0", "0", "WITHSCORES"});
    ASSERT_TRUE(eventually([&] {
        return server->ask({"PUBSUB", "NUMSUB", "holdfast_forced"}).items.at(1).number == 1;
    }));
    for (const auto* key : {"plain", "writing", "reading", "seats"})
        server->ask({"PUBLISH", "holdfast_forced", key});
    server->ask({"DEL", "taken"});
    server->ask({"PUBLISH", "holdfast_forced", "taken"});
    ASSERT_TRUE(lost.awaited()); // and the others have been looked at before
    for (const auto* key : {"plain", "writing", "reading"})
        EXPECT_LE(server->ask({"PTTL", key}).number, 300'000) << key;
    EXPECT_EQ(server->ask({"ZRANGE", "{seats}:timeout", "0", "0", "WITHSCORES"}), limit);
    for (const auto& one : kept)
        EXPECT_TRUE(one.held());
}

} // namespace
} // namespace holdfast::servers
