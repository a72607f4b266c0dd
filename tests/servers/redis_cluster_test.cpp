#include "servers/redis_cluster.hpp"

#include <gtest/gtest.h>

namespace holdfast::servers {
namespace {

class cluster_fixture : public ::testing::Test {
protected:
    void SetUp() override { HOLDFAST_NEEDS(redis_server::missing()); }
};

reply over_tcp(const redis_server& node, const words& command) {
    return redis_link::over_tcp(node.port()).ask(command);
}

TEST_F(cluster_fixture, sends_each_key_to_its_node) {
    redis_cluster cluster;
    auto& home = cluster.node_of("x"); // slot 16287
    EXPECT_EQ(&home, &cluster.node(2));
    EXPECT_EQ(over_tcp(home, {"SET", "x", "1"}).text, "OK");
    EXPECT_EQ(over_tcp(cluster.node(0), {"GET", "x"}).text, "MOVED 16287 " + home.address());

    auto& other = cluster.node(0);
    cluster.begin_move(16'287, home, other);
    EXPECT_EQ(over_tcp(home, {"GET", "{x}new"}).text, "ASK 16287 " + other.address());
    cluster.finish_move(16'287, home, other);
    EXPECT_EQ(&cluster.node_of("x"), &other);
    EXPECT_EQ(over_tcp(other, {"GET", "x"}).text, "1");
}

TEST_F(cluster_fixture, can_be_locked_and_encrypted) {
    redis_cluster cluster{{.over = encryption::tls, .password = "secret", .user = "alice"}};
    EXPECT_TRUE(cluster.url().starts_with("redis+cluster://alice:secret@127.0.0.1:"));
    cluster.node_of("x").ask({"SET", "x", "1"});
    cluster.fail_over(cluster.node_of("x"));
    EXPECT_EQ(cluster.node_of("x").ask({"GET", "x"}).text, "1");
}

TEST_F(cluster_fixture, fails_over_when_asked_and_when_a_master_dies) {
    redis_cluster cluster;
    cluster.fail_over(cluster.node(0));
    EXPECT_EQ(&cluster.master_of_slot(0), &cluster.node(3));
    cluster.node(1).kill();
    cluster.until_slot_leaves(8000, cluster.node(1));
    EXPECT_EQ(&cluster.master_of_slot(8000), &cluster.node(4));
}

} // namespace
} // namespace holdfast::servers
