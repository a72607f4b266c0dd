// What every real database server promises to the tests that use it.

#include "cli/process_tree.hpp"
#include "servers/mariadb.hpp"
#include "servers/mariadb_link.hpp"
#include "servers/postgres.hpp"
#include "servers/postgres_link.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <future>
#include <set>

namespace holdfast::servers {
namespace {

using namespace std::chrono_literals;

struct postgres {
    using server = postgres_server;
    static postgres_link link(const server& to) { return postgres_link{to.url()}; }
    static postgres_link link(const server& to, const std::string& password) {
        return postgres_link{"postgres://holdfast:" + password + '@' + to.address() + "/holdfast"};
    }
    static constexpr const char* scheme = "postgres://";
    static constexpr const char* who = "SELECT current_user, current_database()";
    static constexpr const char* seconds = "SELECT extract(epoch FROM clock_timestamp())";
    static constexpr const char* setting = "work_mem = 1234kB";
    static constexpr const char* ask_setting = "SHOW work_mem";
    static constexpr const char* set_to = "1234kB";
};

struct mariadb {
    using server = mariadb_server;
    static mariadb_link link(const server& to) { return link(to, to.options().password); }
    static mariadb_link link(const server& to, const std::string& password) {
        return mariadb_link{{.port = to.port(), .password = password}};
    }
    static constexpr const char* scheme = "mysql://";
    static constexpr const char* who = "SELECT substring_index(user(), '@', 1), database()";
    static constexpr const char* seconds =
        "SELECT timestampdiff(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) / 1e6";
    static constexpr const char* setting = "wait-timeout=1234";
    static constexpr const char* ask_setting = "SELECT @@global.wait_timeout";
    static constexpr const char* set_to = "1234";
};

struct names {
    // NOLINTNEXTLINE(readability-identifier-naming): GoogleTest calls it so
    template <class Kind> static std::string GetName(int) {
        return std::is_same_v<Kind, postgres> ? "postgres" : "mariadb";
    }
};

template <class Kind> class database_fixture : public ::testing::Test {
protected:
    void SetUp() override { HOLDFAST_NEEDS(Kind::server::missing()); }
};
using kinds = ::testing::Types<postgres, mariadb>;
TYPED_TEST_SUITE(database_fixture, kinds, names);

/// That a server knows of, with it; all of them live.
std::vector<pid_t> processes_of(const database_server& server) {
    std::vector<pid_t> all{server.pid()};
    for (const auto& one : cli::descendants_of(server.pid()))
        all.push_back(one.pid);
    return all;
}

/// It has changed to a folder below, with its data.
std::filesystem::path room_of(pid_t pid) {
    return std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/cwd").parent_path();
}

TYPED_TEST(database_fixture, answers_the_test_and_the_port_alike) {
    const typename TypeParam::server server;
    EXPECT_EQ(server.url(),
              TypeParam::scheme + ("holdfast@127.0.0.1:" + std::to_string(server.port())) +
                  "/holdfast");
    const auto link = TypeParam::link(server);
    EXPECT_EQ(link.ask(TypeParam::who), "holdfast|holdfast");
    link.ask("CREATE TABLE t (n INT, word VARCHAR(10))");
    link.ask("INSERT INTO t VALUES (1, 'a'), (2, NULL)");
    EXPECT_EQ(server.sql("SELECT n, word FROM t ORDER BY n; SELECT 'x'"), "1|a\n2|\nx");
    EXPECT_EQ(server.sql("DELETE FROM t"), "");
    EXPECT_EQ(server.sql("SELECT * FROM t"), "");
    EXPECT_EQ(link.ask("SELECT count(*) FROM t"), "0");
}

TYPED_TEST(database_fixture, says_what_is_wrong) {
    const typename TypeParam::server server;
    for (const std::string statements :
         {"SELECT * FROM nowhere", "SELECT 1; SELECT * FROM nowhere"})
        try {
            server.sql(statements);
            ADD_FAILURE() << statements;
        } catch (const std::runtime_error& failure) {
            EXPECT_NE(std::string{failure.what()}.find("nowhere"), std::string::npos)
                << failure.what();
        }
    const auto link = TypeParam::link(server);
    EXPECT_THROW(link.ask("CREATE DATABASE elsewhere"), std::runtime_error);
    EXPECT_EQ(link.ask("SELECT 1"), "1") << "the link is still good";
}

TYPED_TEST(database_fixture, has_a_port_of_its_own_and_leaves_nothing) {
    std::set<std::uint16_t> ports;
    std::vector<pid_t> processes;
    std::filesystem::path room;
    {
        const typename TypeParam::server one, other;
        ports = {one.port(), other.port()};
        one.sql("CREATE TABLE mine (n INT)");
        EXPECT_THROW(other.sql("SELECT * FROM mine"), std::runtime_error);
        const auto link = TypeParam::link(one);
        processes = processes_of(one);
        room = room_of(one.pid());
        EXPECT_TRUE(std::filesystem::exists(room / "log"));
    }
    EXPECT_EQ(ports.size(), 2U);
    for (const auto pid : processes)
        EXPECT_TRUE(cli_tests::is_gone_within(pid, 0ms));
    EXPECT_FALSE(std::filesystem::exists(room));
}

TYPED_TEST(database_fixture, paused_says_nothing_until_resumed) {
    typename TypeParam::server server;
    const auto link = TypeParam::link(server);
    server.pause();
    EXPECT_FALSE(server.runs());
    auto to_the_connected = std::async([&] { return link.ask("SELECT 1"); });
    auto to_a_new_one = std::async([&] { return server.sql("SELECT 2"); });
    EXPECT_EQ(to_the_connected.wait_for(200ms), std::future_status::timeout);
    EXPECT_EQ(to_a_new_one.wait_for(0ms), std::future_status::timeout);
    server.resume();
    EXPECT_TRUE(server.runs());
    EXPECT_EQ(to_the_connected.get(), "1");
    EXPECT_EQ(to_a_new_one.get(), "2");
}

TYPED_TEST(database_fixture, restarted_has_its_port_and_what_it_stored) {
    typename TypeParam::server server;
    const auto port = server.port();
    const auto link = TypeParam::link(server);
    link.ask("CREATE TABLE t (n INT)");
    link.ask("INSERT INTO t VALUES (7)");
    server.kill();
    EXPECT_FALSE(server.runs());
    EXPECT_THROW(TypeParam::link(server), std::runtime_error);
    EXPECT_THROW(server.sql("SELECT 1"), std::runtime_error);
    server.restart();
    EXPECT_EQ(server.port(), port);
    EXPECT_EQ(TypeParam::link(server).ask("SELECT n FROM t"), "7");
    EXPECT_THROW(link.ask("SELECT 1"), std::runtime_error) << "of the server before";
    server.stop();
    EXPECT_FALSE(server.runs());
    server.restart();
    EXPECT_EQ(TypeParam::link(server).ask("SELECT n FROM t"), "7");
    server.restart(); // while it runs
    EXPECT_EQ(TypeParam::link(server).ask("SELECT n FROM t"), "7");
}

TYPED_TEST(database_fixture, can_be_killed_stopped_and_restarted_while_it_is_paused) {
    typename TypeParam::server server;
    const auto link = TypeParam::link(server);
    const auto processes = processes_of(server);
    server.pause();
    server.kill();
    for (const auto pid : processes)
        EXPECT_TRUE(cli_tests::is_gone_within(pid, 0ms));
    server.restart();
    server.pause();
    server.restart();
    EXPECT_EQ(server.sql("SELECT 1"), "1");
    server.pause();
    server.stop();
    EXPECT_FALSE(server.runs());
}

TYPED_TEST(database_fixture, obeys_further_settings) {
    const typename TypeParam::server server{{.settings = {TypeParam::setting}}};
    EXPECT_EQ(server.sql(TypeParam::ask_setting), TypeParam::set_to);
    try {
        const typename TypeParam::server wrong{{.settings = {"nonsense=1"}}};
        ADD_FAILURE() << "started";
    } catch (const std::runtime_error& failure) {
        EXPECT_NE(std::string{failure.what()}.find("nonsense"), std::string::npos)
            << failure.what();
    }
}

TYPED_TEST(database_fixture, has_a_clock_that_jumps_while_it_runs) {
    const typename TypeParam::server server{{.clock = server_clock::adjustable}};
    const auto link = TypeParam::link(server);
    const auto ahead = [&] {
        const std::chrono::duration<double> real{
            std::chrono::system_clock::now().time_since_epoch()};
        return std::stod(link.ask(TypeParam::seconds)) - real.count();
    };
    EXPECT_NEAR(ahead(), 0, 60);
    server.shift_wall_clock(1h);
    EXPECT_NEAR(ahead(), 3600, 60);
    server.shift_wall_clock(-1h);
    EXPECT_NEAR(ahead(), -3600, 60);
    EXPECT_NEAR(std::stod(TypeParam::link(server).ask(TypeParam::seconds)),
                std::stod(link.ask(TypeParam::seconds)),
                60)
        << "the same for everybody";
    const typename TypeParam::server other;
    EXPECT_THROW(other.shift_wall_clock(1s), std::logic_error);
}

TYPED_TEST(database_fixture, lets_in_only_who_knows_the_password) {
    typename TypeParam::server server{{.password = "secret"}};
    EXPECT_EQ(server.url(),
              TypeParam::scheme + ("holdfast:secret@" + server.address()) + "/holdfast");
    EXPECT_EQ(TypeParam::link(server).ask(TypeParam::who), "holdfast|holdfast");
    EXPECT_THROW(TypeParam::link(server, "wrong"), std::runtime_error);
    EXPECT_THROW(TypeParam::link(server, ""), std::runtime_error);
    server.restart();
    EXPECT_EQ(TypeParam::link(server).ask(TypeParam::who), "holdfast|holdfast");
}

} // namespace
} // namespace holdfast::servers
