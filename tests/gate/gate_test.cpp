#include "gate/gate.hpp"
#include "gate/gated_cluster.hpp"
#include "servers/redis.hpp"

#include <holdfast/clock.hpp>

#include <gtest/gtest.h>

namespace holdfast::servers {
namespace {

using namespace std::chrono_literals;

class gate_before_redis : public ::testing::Test {
protected:
    void SetUp() override {
        HOLDFAST_NEEDS(redis_server::missing());
        server.emplace();
        way.emplace(server->port());
    }

    [[nodiscard]] redis_link connect() const { return redis_link::over_tcp(way->port()); }
    [[nodiscard]] std::string value(const std::string& key) const {
        return to_string(server->ask({"GET", key}));
    }
    [[nodiscard]] bool becomes(const std::string& key, const std::string& expected) const {
        return cli_tests::comes_true(30s, [&] { return value(key) == expected; });
    }

    [[nodiscard]] bool is_unreachable() const;

    std::optional<redis_server> server;
    std::optional<gate> way;
};

bool is_over(redis_link& link) {
    try {
        return !link.ask({"PING"}).text.starts_with("PONG");
    } catch (const std::runtime_error&) {
        return true;
    }
}

bool gate_before_redis::is_unreachable() const {
    try {
        auto link = connect();
        return is_over(link);
    } catch (const std::runtime_error&) {
        return true;
    }
}

TEST_F(gate_before_redis, passes_and_counts) {
    auto one = connect(), two = connect();
    EXPECT_EQ(one.ask({"PING"}).text, "PONG");
    EXPECT_EQ(two.ask({"PING"}).text, "PONG");
    EXPECT_EQ(two.ask({"PING"}).text, "PONG");
    EXPECT_EQ(way->connections(), 2U);
    EXPECT_EQ(way->open_connections(), 2U);
    EXPECT_EQ(way->bytes_passed(direction::to_server, 1), 2U * 14); // *1 $4 PING, with line ends
    EXPECT_EQ(way->bytes_passed(direction::to_client), 3U * 7);     // +PONG
}

TEST_F(gate_before_redis, passes_a_megabyte_each_way) {
    auto link = connect();
    const std::string much(1 << 20, 'x');
    EXPECT_EQ(link.ask({"SET", "much", much}).text, "OK");
    EXPECT_EQ(link.ask({"GET", "much"}).text, much);
}

TEST_F(gate_before_redis, holds_a_request_until_it_may_pass) {
    auto link = connect();
    way->hold(direction::to_server);
    link.say({"INCR", "n"});
    EXPECT_EQ(link.hear(50ms), std::nullopt);
    EXPECT_EQ(value("n"), "(nil)");
    way->pass(direction::to_server);
    EXPECT_EQ(link.hear().value().number, 1);
}

TEST_F(gate_before_redis, holds_an_answer_while_the_server_has_done_it) {
    auto link = connect();
    way->hold(direction::to_client);
    link.say({"INCR", "n"});
    EXPECT_TRUE(becomes("n", "1"));
    EXPECT_EQ(link.hear(50ms), std::nullopt);
    way->pass(direction::to_client);
    EXPECT_EQ(link.hear().value().number, 1);
}

TEST_F(gate_before_redis, reorders_by_holding_one_connection) {
    auto first = connect(), second = connect();
    EXPECT_EQ(first.ask({"PING"}).text + second.ask({"PING"}).text, "PONGPONG");
    way->hold(direction::to_server, 0);
    first.say({"SET", "x", "first"});
    EXPECT_EQ(second.ask({"SET", "x", "second"}).text, "OK");
    EXPECT_EQ(value("x"), "second");
    way->pass(direction::to_server, 0);
    EXPECT_EQ(first.hear().value().text, "OK");
    EXPECT_EQ(value("x"), "first");
}

TEST_F(gate_before_redis, drops_silently) {
    auto link = connect();
    way->drop(direction::to_client);
    link.say({"INCR", "n"});
    EXPECT_TRUE(becomes("n", "1"));
    EXPECT_TRUE(
        cli_tests::comes_true(30s, [&] { return way->bytes_seen(direction::to_client) == 4; }));
    way->drop(direction::to_server);
    link.say({"INCR", "n"});
    EXPECT_TRUE(
        cli_tests::comes_true(30s, [&] { return way->bytes_seen(direction::to_server) == 42; }));
    way->pass(direction::to_client);
    way->pass(direction::to_server);
    EXPECT_EQ(link.hear(50ms), std::nullopt);
    EXPECT_EQ(link.ask({"GET", "n"}).text, "1");
}

TEST_F(gate_before_redis, delays) {
    auto link = connect();
    way->delay(direction::to_client, 60ms);
    const auto before = boot_clock::now();
    EXPECT_EQ(link.ask({"PING"}).text, "PONG");
    EXPECT_GE(boot_clock::now() - before, 60ms);
}

TEST_F(gate_before_redis, cuts_now_and_only_whom_it_should) {
    auto one = connect(), two = connect();
    EXPECT_EQ(one.ask({"PING"}).text + two.ask({"PING"}).text, "PONGPONG");
    way->cut(ending::reset, 0);
    EXPECT_EQ(two.ask({"PING"}).text, "PONG");
    EXPECT_TRUE(is_over(one));
    way->cut(ending::closed);
    EXPECT_TRUE(is_over(two));
    EXPECT_EQ(way->open_connections(), 0U);
    EXPECT_EQ(connect().ask({"PING"}).text, "PONG");
}

TEST_F(gate_before_redis, cuts_inside_a_message) {
    auto link = connect();
    way->cut_after(direction::to_client, 3);
    link.say({"INCR", "n"}); // its answer has four bytes
    EXPECT_THROW(static_cast<void>(link.hear()), std::runtime_error);
    EXPECT_EQ(way->bytes_passed(direction::to_client), 3U);
    EXPECT_EQ(value("n"), "1");
}

TEST_F(gate_before_redis, cuts_when_it_sees_a_command_that_then_never_arrives) {
    way->cut_at(direction::to_server, "INCR", last_bytes::lost);
    auto link = connect();
    EXPECT_EQ(link.ask({"PING"}).text, "PONG");
    link.say({"INCR", "n"});
    EXPECT_THROW(static_cast<void>(link.hear()), std::runtime_error);
    EXPECT_EQ(value("n"), "(nil)");
}

TEST_F(gate_before_redis, cuts_when_it_sees_a_command_that_is_done_but_not_answered) {
    for (const auto how : {ending::closed, ending::reset}) {
        server->ask({"DEL", "n"});
        way->cut_at(direction::to_server, "INCR", last_bytes::delivered, how);
        auto link = connect();
        link.say({"INCR", "n"});
        EXPECT_THROW(static_cast<void>(link.hear()), std::runtime_error);
        EXPECT_TRUE(becomes("n", "1"));
        EXPECT_EQ(connect().ask({"INCR", "n"}).number, 2); // only once
    }
    EXPECT_EQ(way->cuts(), 2U);
    EXPECT_TRUE(cli_tests::comes_true(30s, [&] { return way->open_connections() == 0; }));
}

TEST_F(gate_before_redis, sees_a_text_that_comes_in_two_pieces) {
    way->cut_at(direction::to_server, "xy\r\n*1\r\n$4\r\nPING", last_bytes::lost);
    auto link = connect();
    EXPECT_EQ(link.ask({"ECHO", "xy"}).text, "xy"); // so that it has been seen apart
    link.say({"PING"});
    EXPECT_THROW(static_cast<void>(link.hear()), std::runtime_error);
}

TEST_F(gate_before_redis, forgets_a_text) {
    way->cut_at(direction::to_server, "INCR", last_bytes::lost);
    way->cut_at(direction::to_server, "", last_bytes::lost);
    EXPECT_EQ(connect().ask({"INCR", "n"}).number, 1);
    EXPECT_EQ(way->cuts(), 0U);
}

TEST_F(gate_before_redis, tells_of_an_end_that_was_dropped_once_it_passes_again) {
    way->drop(direction::to_server);
    {
        auto link = connect();
        link.say({"INCR", "n"});
        EXPECT_TRUE(
            cli_tests::comes_true(30s, [&] { return way->bytes_seen(direction::to_server) > 0; }));
    }
    EXPECT_EQ(way->open_connections(), 1U);
    way->pass(direction::to_server);
    EXPECT_TRUE(cli_tests::comes_true(30s, [&] { return way->open_connections() == 0; }));
    EXPECT_EQ(value("n"), "(nil)");
}

TEST_F(gate_before_redis, refuses_and_admits) {
    way->refuse();
    EXPECT_THROW(static_cast<void>(connect()), std::runtime_error);
    way->admit();
    EXPECT_EQ(connect().ask({"PING"}).text, "PONG");
}

TEST_F(gate_before_redis, has_rules_for_connections_to_come) {
    way->drop(direction::to_client, 1);
    auto first = connect(), second = connect();
    EXPECT_EQ(first.ask({"PING"}).text, "PONG");
    second.say({"PING"});
    EXPECT_EQ(second.hear(50ms), std::nullopt);
    EXPECT_EQ(connect().ask({"PING"}).text, "PONG");
}

TEST_F(gate_before_redis, ends_its_side_when_the_server_dies) {
    auto link = connect();
    EXPECT_EQ(link.ask({"PING"}).text, "PONG");
    server->kill();
    EXPECT_TRUE(is_over(link));
    EXPECT_TRUE(is_unreachable());
    const redis_server other;
    way->lead_to(other.port());
    EXPECT_EQ(connect().ask({"PING"}).text, "PONG");
}

TEST(gated_cluster, sends_clients_through_its_gates) {
    HOLDFAST_NEEDS(redis_server::missing());
    gated_cluster cluster;
    auto& home = cluster.nodes.node_of("x");
    auto& other = cluster.nodes.node(0);
    ASSERT_NE(&home, &other);
    EXPECT_EQ(redis_link::over_tcp(cluster.gate_of(other).port()).ask({"GET", "x"}).text,
              "MOVED 16287 " + cluster.gate_of(home).address());
}

} // namespace
} // namespace holdfast::servers
