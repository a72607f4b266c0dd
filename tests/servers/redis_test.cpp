#include "servers/certificates.hpp"
#include "servers/redis.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

namespace holdfast::servers {
namespace {

using namespace std::chrono_literals;

class redis_fixture : public ::testing::Test {
protected:
    void SetUp() override { HOLDFAST_NEEDS(redis_server::missing()); }
};

cli_tests::outcome cli(const redis_server& server, std::vector<std::string> arguments) {
    std::vector<std::string> all{
        "timeout", "-s", "KILL", "5", "redis-cli", "-p", std::to_string(server.port())};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return cli_tests::call(all);
}

TEST_F(redis_fixture, answers_the_test_and_the_port_alike) {
    const redis_server server;
    EXPECT_EQ(server.ask({"SET", "x", std::string{"a\0b", 3}}).text, "OK");
    EXPECT_EQ(redis_link::over_tcp(server.port()).ask({"GET", "x"}).text, (std::string{"a\0b", 3}));
    EXPECT_EQ(server.ask({"INCR", "n"}).number, 1);
    EXPECT_TRUE(server.ask({"GET", "nothing"}).is_nil());
    EXPECT_TRUE(server.ask({"NONSENSE"}).is_error());
    EXPECT_EQ(to_string(server.ask({"MGET", "n", "none"})), "[1, (nil)]");
}

TEST_F(redis_fixture, has_a_port_of_its_own_and_leaves_nothing) {
    std::set<std::uint16_t> ports;
    pid_t pid = 0;
    std::string socket;
    {
        const redis_server one, two, three;
        ports = {one.port(), two.port(), three.port()};
        pid = one.pid();
        socket = one.unix_socket();
        EXPECT_TRUE(std::filesystem::exists(socket));
    }
    EXPECT_EQ(ports.size(), 3U);
    EXPECT_TRUE(cli_tests::is_gone_within(pid, 0ms));
    EXPECT_FALSE(std::filesystem::exists(std::filesystem::path{socket}.parent_path()));
}

TEST_F(redis_fixture, hears_what_is_published) {
    const redis_server server;
    auto listener = server.link();
    EXPECT_EQ(to_string(listener.ask({"SUBSCRIBE", "news"})), "[subscribe, news, 1]");
    EXPECT_EQ(listener.hear(20ms), std::nullopt);
    server.ask({"PUBLISH", "news", "0"});
    EXPECT_EQ(to_string(listener.hear().value()), "[message, news, 0]");
}

TEST_F(redis_fixture, paused_says_nothing_until_resumed) {
    redis_server server;
    auto link = redis_link::over_tcp(server.port());
    server.pause();
    EXPECT_FALSE(server.runs());
    link.say({"INCR", "n"});
    EXPECT_EQ(link.hear(100ms), std::nullopt);
    server.resume();
    EXPECT_EQ(link.hear().value().number, 1);
}

TEST_F(redis_fixture, restarted_has_its_port_and_what_it_kept) {
    redis_server forgetful;
    redis_server durable{{.data = durability::append_only}};
    for (auto* server : {&forgetful, &durable}) {
        const auto port = server->port();
        server->ask({"SET", "x", "1"});
        server->kill();
        EXPECT_FALSE(server->runs());
        EXPECT_THROW(static_cast<void>(redis_link::over_tcp(port)), std::runtime_error);
        server->restart();
        EXPECT_EQ(server->port(), port);
        EXPECT_EQ(redis_link::over_tcp(port).ask({"PING"}).text, "PONG");
    }
    EXPECT_TRUE(forgetful.ask({"GET", "x"}).is_nil());
    EXPECT_EQ(durable.ask({"GET", "x"}).text, "1");
    durable.restart(contents::lost);
    EXPECT_TRUE(durable.ask({"GET", "x"}).is_nil());
}

TEST_F(redis_fixture, lets_in_only_who_knows_the_password) {
    const redis_server by_password{{.password = "secret"}};
    EXPECT_TRUE(redis_link::over_tcp(by_password.port()).ask({"GET", "x"}).is_error());
    EXPECT_EQ(by_password.ask({"SET", "x", "1"}).text, "OK");
    EXPECT_EQ(by_password.url(), "redis://:secret@" + by_password.address());

    const redis_server by_user{{.password = "secret", .user = "alice"}};
    auto link = redis_link::over_tcp(by_user.port());
    EXPECT_TRUE(link.ask({"AUTH", "default", "secret"}).is_error());
    EXPECT_EQ(link.ask({"AUTH", "alice", "secret"}).text, "OK");
    EXPECT_EQ(link.ask({"SET", "x", "1"}).text, "OK");
}

TEST_F(redis_fixture, speaks_tls_and_asks_for_certificates) {
    const auto& papers = our_certificates();
    const redis_server one_way{{.over = encryption::tls}};
    const redis_server mutual{{.over = encryption::mutual_tls}};
    const std::vector<std::string> trusting{"--tls", "--cacert", papers.authority, "ping"};
    EXPECT_EQ(cli(one_way, trusting).out, "PONG\n");
    EXPECT_NE(cli(one_way, {"--tls", "--cacert", papers.stranger_authority, "ping"}).out, "PONG\n");
    EXPECT_NE(cli(mutual, trusting).out, "PONG\n");
    EXPECT_EQ(cli(mutual,
                  {"--tls",
                   "--cacert",
                   papers.authority,
                   "--cert",
                   papers.client,
                   "--key",
                   papers.client_key,
                   "ping"})
                  .out,
              "PONG\n");
    EXPECT_NE(cli(one_way, {"ping"}).out, "PONG\n");
}

TEST_F(redis_fixture, has_clocks_that_jump_while_it_runs) {
    const redis_server server{{.clock = server_clock::adjustable}};
    server.ask({"SET", "x", "1", "PX", "60000"});
    server.shift_wall_clock(30s);
    const auto left = server.ask({"PTTL", "x"}).number;
    EXPECT_LE(left, 30'000);
    EXPECT_GE(left, 20'000);
    server.shift_wall_clock(-10s);
    EXPECT_GT(server.ask({"PTTL", "x"}).number, 60'000);
    server.shift_wall_clock(100s);
    EXPECT_TRUE(server.ask({"GET", "x"}).is_nil());
    EXPECT_THROW(redis_server{}.shift_wall_clock(1s), std::logic_error);
}

TEST_F(redis_fixture, follows_a_primary) {
    const redis_server primary;
    const redis_server replica{{.replica_of = primary.port()}};
    primary.ask({"SET", "x", "1"});
    EXPECT_TRUE(cli_tests::comes_true(10s, [&] { return replica.ask({"GET", "x"}).text == "1"; }));
    EXPECT_TRUE(replica.ask({"SET", "x", "2"}).text.starts_with("READONLY"));
}

TEST_F(redis_fixture, dies_with_a_killed_test) {
    // A shell that starts a server as the fixture does, and is killed -9 itself.
    cli_tests::program parent{
        {"sh", "-c", "setpriv --pdeathsig KILL sh -c 'echo $$; exec sleep 60' & wait"}};
    const auto pid = std::stoi(parent.out.line().value());
    parent.signal(SIGKILL);
    EXPECT_TRUE(cli_tests::is_gone_within(pid, 5s));
}

} // namespace
} // namespace holdfast::servers
