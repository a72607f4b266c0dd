// What becomes of Redisson's lock when its answer is lost: the cases that we must do better.

#include "gate/gated_cluster.hpp"
#include "interop/dump.hpp"
#include "interop/peer.hpp"

#include <gtest/gtest.h>

namespace holdfast::interop {
namespace {

using namespace std::chrono_literals;
using namespace servers;

class redisson_faults : public ::testing::Test {
protected:
    void SetUp() override {
        HOLDFAST_NEEDS(redis_server::missing());
        HOLDFAST_NEEDS(peer::redisson_missing());
        java.emplace(peer::redisson());
    }
    std::optional<peer> java;
};

TEST_F(redisson_faults, on_one_server_the_lock_is_taken_but_nobody_has_it) {
    const redis_server server;
    gate way{server.port()};
    java->ask("client c1 single timeout_ms=500 address=" + way.address());
    const auto holder = java->ask("holder c1 h1");
    java->ask("lock c1 h1 plain warm"); // the scripts are known to the server by now
    java->ask("unlock c1 h1 plain warm");
    way.cut_at(direction::to_server, "orders", last_bytes::delivered);
    EXPECT_THROW(java->ask("lock c1 h1 plain orders"), std::runtime_error);
    EXPECT_EQ(way.cuts(), 1U);
    EXPECT_EQ(dump(server, {{holder, "c1:h1"}}), "orders hash <=30s\n  c1:h1 = 1\n");
}

TEST_F(redisson_faults, in_a_cluster_the_request_is_repeated_and_counted_twice) {
    gated_cluster cluster;
    auto& home = cluster.nodes.node_of("orders");
    java->ask("client c1 cluster timeout_ms=500 address=" + cluster.addresses());
    const names called{{java->ask("holder c1 h1"), "c1:h1"}};
    auto& way = cluster.gate_of(home);
    way.cut_at(direction::to_server, "orders", last_bytes::delivered);
    java->ask("lock c1 h1 plain orders");
    EXPECT_EQ(way.cuts(), 1U);
    EXPECT_EQ(dump(home, called), "orders hash <=30s\n  c1:h1 = 2\n");
    java->ask("unlock c1 h1 plain orders"); // locked once, unlocked once, still held
    const std::string still_held = "orders hash <=30s\n  c1:h1 = 1\n";
    EXPECT_EQ(dump_when(still_held, home, called), still_held);
}

} // namespace
} // namespace holdfast::interop
