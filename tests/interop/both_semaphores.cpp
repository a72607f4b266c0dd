// Redisson's plain semaphore, which keeps no record of who has its permits; and ours with
// semaphore=plain.

#include "interop/both.hpp"
#include "promise.hpp"

namespace holdfast::interop {
namespace {

using namespace std::chrono_literals;

class both_semaphores : public with_both {
protected:
    void SetUp() override {
        with_both::SetUp();
        if (IsSkipped())
            return;
        for (const std::string client : {"p1", "p2"}) {
            java->ask("client", client, "single", "address=" + server->address());
            ours->ask("client",
                      client,
                      "single semaphore=plain watchdog_ms=3000",
                      "address=" + server->address());
        }
    }
    void set(peer& one, const std::string& name, const std::string& permits) {
        for (const std::string hand : {"p1 h1", "p1 h2", "p2 h1"})
            one.ask("semaphore", hand, "set", name, permits);
    }
    [[nodiscard]] std::string free(const std::string& name) const {
        return server->ask({"GET", name}).text;
    }
};

INSTANTIATE_TEST_SUITE_P(redisson,
                         both_semaphores,
                         ::testing::ValuesIn(redisson_versions_to_test()),
                         version_as_name);

TEST_P(both_semaphores, give_permits_to_each_other_and_wake_each_other) {
    for (const auto& [one, other, said] : both_ways()) {
        set(one, said, "2");
        set(other, said, "2");
        EXPECT_EQ(one.ask("semaphore p1 h1 tryacquire", said, "1 0"), "true");
        EXPECT_EQ(free(said), "1");
        EXPECT_EQ(other.ask("semaphore p1 h1 tryacquire", said, "1 0"), "true");
        EXPECT_EQ(free(said), "0");
        EXPECT_EQ(one.ask("semaphore p1 h2 tryacquire", said, "1 0"), "false");
        EXPECT_EQ(other.ask("semaphore p1 h2 tryacquire", said, "1 0"), "false");
        const auto waiting = other.begin("semaphore p2 h1 acquire", said, "1");
        ASSERT_TRUE(cli_tests::comes_true(10s, [&] {
            return server->ask({"PUBSUB", "NUMSUB", "redisson_sc:{" + said + "}"})
                       .items.at(1)
                       .number > 0;
        }));
        EXPECT_FALSE(other.has_answered(waiting, 150ms));
        one.ask("semaphore p1 h1 release", said, "1");
        ASSERT_NO_THROW(other.end(waiting, 20s)) << said;
        EXPECT_EQ(free(said), "0");
        other.ask("semaphore p1 h1 release", said, "1");
        other.ask("semaphore p2 h1 release", said, "1");
        EXPECT_EQ(free(said), "2") << "all are back";
        EXPECT_EQ(number({"EXISTS", "{" + said + "}:holdfast_permits", "{" + said + "}:timeout"}),
                  0);
    }
}

TEST_P(both_semaphores, count_exactly_with_one_permit) {
    for (auto* one : {&*java, &*ours})
        set(*one, "ring", "1");
    const auto javas = java->begin("guard p1 h1 semaphore ring counter 150");
    const auto javas_too = java->begin("guard p2 h1 semaphore ring counter 150");
    const auto mine = ours->begin("guard p1 h1 semaphore ring counter 150");
    const auto mine_too = ours->begin("guard p2 h1 semaphore ring counter 150");
    java->end(javas, 120s);
    java->end(javas_too, 120s);
    ours->end(mine, 120s);
    ours->end(mine_too, 120s);
    EXPECT_EQ(server->ask({"GET", "counter"}).text, "600") << promise_broken;
    EXPECT_EQ(free("ring"), "1");
}

// What the docs say of the dead: ours come back when one of ours asks, Java's never do.
TEST_P(both_semaphores, lose_the_permits_of_javas_dead_and_not_of_ours) {
    for (auto* one : {&*java, &*ours})
        set(*one, "seats", "2");
    java->ask("semaphore p1 h1 acquire seats 1");
    ours->ask("semaphore p1 h1 acquire seats 1");
    EXPECT_EQ(free("seats"), "0");
    java->kill();
    ours->kill();
    ours.emplace(peer::ours());
    ours->ask("client p1 single semaphore=plain watchdog_ms=3000 address=" + server->address());
    ours->ask("semaphore p1 h1 set seats 2");
    EXPECT_EQ(ours->ask("semaphore p1 h1 tryacquire seats 1 30000"), "true");
    EXPECT_EQ(ours->ask("semaphore p1 h1 tryacquire seats 1 0"), "false");
    ours->ask("semaphore p1 h1 release seats 1");
    EXPECT_EQ(free("seats"), "1") << "one is lost";
}

} // namespace
} // namespace holdfast::interop
