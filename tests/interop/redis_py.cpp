// redis-py's Lock alone: the layout of one string key, which many libraries share.

#include "interop/dump.hpp"
#include "interop/peer.hpp"
#include "promise.hpp"

#include <gtest/gtest.h>

namespace holdfast::interop {
namespace {

using namespace std::chrono_literals;

class redis_py : public ::testing::Test {
protected:
    void SetUp() override {
        HOLDFAST_NEEDS(servers::redis_server::missing());
        HOLDFAST_NEEDS(peer::redis_py_missing());
        server.emplace();
        python.emplace(peer::redis_py());
        for (const std::string client : {"c1", "c2"})
            python->ask("client", client, "address=" + server->address());
    }

    std::optional<servers::redis_server> server;
    std::optional<peer> python;
};

TEST_F(redis_py, writes_one_key_with_a_random_value) {
    eavesdropper ears{*server};
    python->ask("lock c1 h1 orders 20000");
    const auto token = server->ask({"GET", "orders"}).text;
    EXPECT_EQ(token.size(), 32U); // a UUID in hexadecimal
    EXPECT_EQ(dump(*server, {{token, "token"}}), "orders string <=20s\n  token\n");
    EXPECT_EQ(python->ask("renew c1 h1 orders 40000"), "True");
    EXPECT_EQ(dump(*server, {{token, "token"}}), "orders string <=40s\n  token\n");
    python->ask("unlock c1 h1 orders");
    EXPECT_EQ(dump(*server), "");
    EXPECT_TRUE(ears.is_silent()); // whoever waits has to poll
}

TEST_F(redis_py, waits_and_counts) {
    python->ask("lock c1 h1 orders");
    EXPECT_EQ(python->ask("trylock c2 h1 orders 0 10000"), "no");
    const auto waiting = python->begin("lock c2 h1 orders");
    EXPECT_FALSE(python->has_answered(waiting, 50ms));
    python->ask("unlock c1 h1 orders");
    python->end(waiting, 5s);
    python->ask("unlock c2 h1 orders");
    const auto one = python->begin("count c1 h1 orders counter 100");
    const auto other = python->begin("count c2 h1 orders counter 100");
    python->end(one);
    python->end(other);
    EXPECT_EQ(server->ask({"GET", "counter"}).text, "200") << promise_broken;
}

TEST_F(redis_py, does_not_release_what_is_not_its_own) {
    python->ask("lock c1 h1 orders");
    server->ask({"SET", "orders", "of somebody else"});
    EXPECT_THROW(python->ask("unlock c1 h1 orders"), std::runtime_error);
    EXPECT_EQ(server->ask({"GET", "orders"}).text, "of somebody else");
}

} // namespace
} // namespace holdfast::interop
