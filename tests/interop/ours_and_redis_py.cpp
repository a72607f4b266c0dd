// Our plain layout and the real redis-py's Lock on the same names.

#include "interop/dump.hpp"
#include "interop/peer.hpp"
#include "promise.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace holdfast::interop {
namespace {

using namespace std::chrono_literals;

class ours_and_redis_py : public ::testing::Test {
protected:
    void SetUp() override {
        HOLDFAST_NEEDS(servers::redis_server::missing());
        HOLDFAST_NEEDS(peer::redis_py_missing());
        server.emplace();
        python.emplace(peer::redis_py());
        ours.emplace(peer::ours());
        for (const std::string client : {"c1", "c2"}) {
            python->ask("client", client, "address=" + server->address());
            ours->ask("client", client, "single layout=plain address=" + server->address());
        }
    }

    std::optional<servers::redis_server> server;
    std::optional<peer> python, ours;
};

TEST_F(ours_and_redis_py, count_without_a_mistake) {
    const auto one = python->begin("count c1 h1 orders counter 50");
    const auto two = python->begin("count c2 h1 orders counter 50");
    const auto three = ours->begin("guard c1 h1 plain orders counter 50");
    const auto four = ours->begin("guard c2 h1 plain orders counter 50");
    python->end(one);
    python->end(two);
    ASSERT_NO_THROW(ours->end(three));
    ASSERT_NO_THROW(ours->end(four));
    EXPECT_EQ(server->ask({"GET", "counter"}).text, "200") << promise_broken;
}

TEST_F(ours_and_redis_py, one_waits_for_the_other) {
    python->ask("lock c1 h1 orders 600000");
    EXPECT_EQ(ours->ask("trylock c1 h1 plain orders 0 600000"), "no");
    const auto we = ours->begin("lock c1 h1 plain orders 600000");
    EXPECT_FALSE(ours->has_answered(we, 150ms));
    python->ask("unlock c1 h1 orders");
    EXPECT_NO_THROW(ours->end(we, 15s)); // it says nothing: we look often
    EXPECT_EQ(python->ask("trylock c1 h1 orders 0 10000"), "no");
    const auto it = python->begin("lock c1 h1 orders");
    EXPECT_FALSE(python->has_answered(it, 150ms));
    ours->ask("unlock c1 h1 plain orders");
    EXPECT_NO_THROW(python->end(it, 15s));
    EXPECT_NO_THROW(python->ask("unlock c1 h1 orders"));
}

TEST_F(ours_and_redis_py, neither_takes_what_is_the_others) {
    ours->ask("lock c1 h1 plain orders 600000");
    const auto what = server->ask({"GET", "orders"}).text;
    python->ask("lock c1 h1 other");
    server->ask({"SET", "other", what}); // redis-py finds a value that is not its own
    EXPECT_THROW(python->ask("unlock c1 h1 other"), std::runtime_error);
    python->ask("lock c1 h1 third");
    ours->ask("lock c1 h1 plain fourth 600000");
    server->ask({"SET", "fourth", server->ask({"GET", "third"}).text});
    EXPECT_THROW(ours->ask("unlock c1 h1 plain fourth"), std::runtime_error);
    EXPECT_EQ(server->ask({"GET", "fourth"}).text, server->ask({"GET", "third"}).text);
}

TEST_F(ours_and_redis_py, the_living_get_what_the_dead_held) {
    ours->ask("client short single layout=plain watchdog_ms=3000 address=" + server->address());
    ours->ask("lock short h1 plain orders");
    const auto it = python->begin("lock c1 h1 orders 3000");
    EXPECT_FALSE(python->has_answered(it, 4s)) << "we renew";
    ours->kill();
    EXPECT_NO_THROW(python->end(it, 20s));
    ours.emplace(peer::ours());
    ours->ask("client c1 single layout=plain address=" + server->address());
    const auto we = ours->begin("lock c1 h1 plain orders");
    python->kill();
    EXPECT_NO_THROW(ours->end(we, 20s));
}

TEST_F(ours_and_redis_py, both_write_one_key_of_text) {
    const auto looks = [&] { return anonymous(dump(*server), {"holdfast_"}); };
    python->ask("lock c1 h1 orders 28000");
    const auto theirs = looks();
    EXPECT_EQ(theirs, "orders string <=30s\n  SOMEBODY\n");
    python->ask("unlock c1 h1 orders");
    EXPECT_EQ(looks(), "");
    ours->ask("lock c1 h1 plain orders 28000");
    EXPECT_EQ(looks(), theirs);
    ours->ask("unlock c1 h1 plain orders");
    EXPECT_EQ(looks(), "");
}

} // namespace
} // namespace holdfast::interop
