#include "servers/zookeeper.hpp"
#include "servers/zookeeper_ensemble.hpp"
#include "servers/zookeeper_tree.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace holdfast::servers {
namespace {

using namespace std::chrono_literals;

class zookeeper_fixture : public ::testing::Test {
protected:
    void SetUp() override { HOLDFAST_NEEDS(zookeeper_server::missing()); }
};

std::vector<std::string> paths(const std::vector<znode>& nodes) {
    std::vector<std::string> all;
    for (const auto& one : nodes)
        all.push_back(one.path);
    return all;
}

using strings = std::vector<std::string>;

TEST_F(zookeeper_fixture, serves_on_a_port_of_its_own_and_leaves_nothing) {
    pid_t pid = 0;
    {
        const zookeeper_server one;
        const zookeeper_server other;
        pid = one.pid();
        EXPECT_NE(one.port(), other.port());
        EXPECT_EQ(one.mode(), "standalone");
        EXPECT_EQ(one.tell("ruok"), "imok");
        EXPECT_EQ(one.url(), "zookeeper://127.0.0.1:" + std::to_string(one.port()));
        EXPECT_TRUE(one.runs());
    }
    EXPECT_TRUE(cli_tests::is_gone_within(pid, 0ms));
}

TEST_F(zookeeper_fixture, shows_what_is_stored) {
    const zookeeper_server server;
    zookeeper_tree tree{server.address()};
    EXPECT_TRUE(tree.below("/").empty());
    tree.create("/b", {}, znode_kind::container);
    tree.create("/a", std::string{"x\0y", 3});
    EXPECT_EQ(tree.create("/b/n-", "1", znode_kind::ephemeral_sequential), "/b/n-0000000000");
    EXPECT_EQ(tree.create("/b/n-", "2", znode_kind::sequential), "/b/n-0000000001");
    tree.create("/b/c", {}, znode_kind::ephemeral);

    const auto all = tree.below("/");
    ASSERT_EQ(paths(all), (strings{"/a", "/b", "/b/c", "/b/n-0000000000", "/b/n-0000000001"}));
    EXPECT_EQ(all[0].data, (std::string{"x\0y", 3}));
    EXPECT_EQ(all[0].owner, 0);
    EXPECT_EQ(all[1].owner, 0) << "as of any other that stays";
    EXPECT_EQ(all[1].children, 3);
    EXPECT_EQ(all[2].owner, tree.session().id);
    EXPECT_EQ(all[3].name(), "n-0000000000");
    EXPECT_EQ(all[4].owner, 0);
    EXPECT_LT(all[1].created_by, all[0].created_by);
    EXPECT_LT(all[3].created_by, all[4].created_by);
    EXPECT_EQ(paths(tree.below("/b")), (strings{"/b/c", "/b/n-0000000000", "/b/n-0000000001"}));

    tree.write("/a", "other");
    EXPECT_EQ(tree.at("/a")->data, "other");
    EXPECT_EQ(tree.at("/a")->version, 1);
    EXPECT_TRUE(tree.remove("/a"));
    EXPECT_FALSE(tree.remove("/a"));
    EXPECT_FALSE(tree.has("/a"));
    EXPECT_TRUE(tree.children("/a").empty());
    tree.clear();
    EXPECT_TRUE(tree.below("/").empty());
}

TEST_F(zookeeper_fixture, ends_a_session_when_told_to) {
    const zookeeper_server server;
    zookeeper_tree looking{server.address()};
    zookeeper_tree other{server.address()};
    other.create("/mine", {}, znode_kind::ephemeral);
    const auto session = other.session();
    EXPECT_EQ(looking.at("/mine")->owner, session.id);
    expire(server.address(), session);
    EXPECT_FALSE(looking.has("/mine"));
    EXPECT_NE(other.session().id, session.id) << "it has begun a new one";
    expire(server.address(), session); // which is over
}

TEST_F(zookeeper_fixture, ends_sessions_that_fall_silent) {
    const zookeeper_server server{{.longest_session = 1s}};
    zookeeper_tree looking{server.address()};
    cli_tests::program silent{{"/usr/bin/python3",
                               "-c",
                               R"(
import socket, struct, sys, time
line = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
def say(body): line.sendall(struct.pack(">i", len(body)) + body)
def hear(): return line.recv(struct.unpack(">i", line.recv(4))[0])
say(struct.pack(">iqiqi16s", 0, 0, 60000, 0, 16, b""))
print(struct.unpack(">i", hear()[4:8])[0])
path = b"/silent"
acl = struct.pack(">iii5si6s", 1, 31, 5, b"world", 6, b"anyone")
say(struct.pack(">iii7si", 1, 1, len(path), path, 0) + acl + struct.pack(">i", 1))
hear()
print("created", flush=True)
time.sleep(60)
)",
                               std::to_string(server.port())}};
    EXPECT_EQ(silent.out.line(), "1000") << "no longer than the longest";
    EXPECT_EQ(silent.out.line(), "created");
    EXPECT_TRUE(cli_tests::comes_true(20s, [&] { return !looking.has("/silent"); }));
}

TEST_F(zookeeper_fixture, paused_says_nothing_until_resumed) {
    zookeeper_server server;
    zookeeper_tree tree{server.address()};
    server.pause();
    EXPECT_FALSE(server.runs());
    EXPECT_EQ(server.tell("ruok"), "");
    server.resume();
    EXPECT_TRUE(server.runs());
    EXPECT_EQ(server.tell("ruok"), "imok");
    EXPECT_TRUE(tree.has("/"));
}

TEST_F(zookeeper_fixture, restarted_has_its_port_and_what_it_stored) {
    zookeeper_server server;
    const auto port = server.port();
    zookeeper_tree tree{server.address()};
    tree.create("/kept", "data");
    tree.create("/mine", {}, znode_kind::ephemeral);
    const auto session = tree.session().id;
    server.kill();
    EXPECT_FALSE(server.runs());
    EXPECT_EQ(server.mode(), "");
    server.restart();
    EXPECT_EQ(server.port(), port);
    EXPECT_EQ(tree.at("/kept")->data, "data");
    EXPECT_EQ(tree.at("/mine")->owner, session) << "sessions are stored, too";
    server.stop();
    EXPECT_FALSE(server.runs());
    server.restart();
    EXPECT_TRUE(tree.has("/kept"));
}

TEST_F(zookeeper_fixture, sweeps_empty_containers_as_often_as_it_is_told) {
    const zookeeper_server server{{.properties = {"znode.container.checkIntervalMs=100"}}};
    zookeeper_tree tree{server.address()};
    tree.create("/used", {}, znode_kind::container);
    tree.create("/used/child");
    tree.create("/kept");
    tree.create("/kept/child");
    tree.remove("/used/child");
    tree.remove("/kept/child");
    EXPECT_TRUE(cli_tests::comes_true(30s, [&] { return !tree.has("/used"); }));
    EXPECT_TRUE(tree.has("/kept"));
}

TEST_F(zookeeper_fixture, stands_in_for_a_leader_that_is_killed_or_paused) {
    zookeeper_ensemble ensemble;
    zookeeper_tree tree{ensemble.addresses()};
    const auto first = ensemble.leader();
    EXPECT_NE(ensemble.follower(), first);
    EXPECT_NE(ensemble.follower(ensemble.follower()), ensemble.follower());
    tree.create("/kept", "1");
    ensemble.member(first).kill();
    const auto second = ensemble.leader();
    EXPECT_NE(second, first);
    EXPECT_EQ(tree.at("/kept")->data, "1");
    ensemble.restart(first);
    EXPECT_EQ(ensemble.member(first).mode(), "follower");

    ensemble.member(second).pause();
    EXPECT_NE(ensemble.leader(), second);
    ensemble.member(second).resume();
    EXPECT_TRUE(
        cli_tests::comes_true(60s, [&] { return ensemble.member(second).mode() == "follower"; }));
    ensemble.restart_all();
    EXPECT_EQ(tree.at("/kept")->data, "1");
}

} // namespace
} // namespace holdfast::servers
