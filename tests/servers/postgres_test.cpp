#include "cli/process_tree.hpp"
#include "servers/certificates.hpp"
#include "servers/postgres.hpp"
#include "servers/postgres_link.hpp"

#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <future>
#include <iterator>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace holdfast::servers {
namespace {

using namespace std::chrono_literals;

class postgres_fixture : public ::testing::Test {
protected:
    void SetUp() override { HOLDFAST_NEEDS(postgres_server::missing()); }
};

std::string pieces_of_system_memory() { return call_or_throw({"cat", "/proc/sysvipc/shm"}); }

/// The piece by which a running server knows that another one of its folder runs.
std::string key_of(const postgres_server& server) {
    return server.sql("SELECT split_part(trim(split_part(pg_read_file('postmaster.pid'), E'\\n', "
                      "7)), ' ', 1)");
}

TEST_F(postgres_fixture, has_a_role_that_owns_its_database_and_is_nobody_special) {
    const postgres_server server;
    EXPECT_EQ(server.sql("SELECT rolsuper, rolcreatedb, rolcreaterole, rolreplication FROM "
                         "pg_roles WHERE rolname = 'holdfast'"),
              "f|f|f|f");
    EXPECT_EQ(server.sql("SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = "
                         "'holdfast'"),
              "holdfast");
    EXPECT_EQ(server.sql("SELECT current_user", "holdfast", "holdfast"), "holdfast");
    EXPECT_THROW(server.sql("SELECT 1", "nowhere"), std::runtime_error);
}

TEST_F(postgres_fixture, killed_leaves_nothing_in_the_memory_of_the_system) {
    std::string key;
    {
        postgres_server server;
        key = ' ' + key_of(server) + ' ';
        EXPECT_NE(pieces_of_system_memory().find(key), std::string::npos);
        server.kill();
        EXPECT_EQ(pieces_of_system_memory().find(key), std::string::npos);
        server.restart();
        key = ' ' + key_of(server) + ' ';
    }
    EXPECT_EQ(pieces_of_system_memory().find(key), std::string::npos);
}

TEST_F(postgres_fixture, speaks_tls_and_asks_for_certificates) {
    const auto& papers = our_certificates();
    const postgres_server one_way{{.over = encryption::tls}};
    const postgres_server mutual{{.over = encryption::mutual_tls}};
    const auto over = [](const postgres_server& server, const std::string& words) {
        return postgres_link{server.url() + "?sslmode=" + words}.ask(
            "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()");
    };
    const auto trusting = "verify-full&sslrootcert=" + papers.authority;
    EXPECT_EQ(over(one_way, trusting), "t");
    EXPECT_THROW(over(one_way, "verify-full&sslrootcert=" + papers.stranger_authority),
                 std::runtime_error);
    EXPECT_THROW(over(one_way, "disable"), std::runtime_error);
    EXPECT_THROW(over(mutual, trusting), std::runtime_error);
    EXPECT_EQ(over(mutual, trusting + "&sslcert=" + papers.client + "&sslkey=" + papers.client_key),
              "t");
    EXPECT_EQ(mutual.sql("SELECT 1"), "1");
}

TEST_F(postgres_fixture, follows_a_primary_and_is_promoted) {
    postgres_server primary;
    const postgres_link writer{primary.url()};
    writer.ask("CREATE TABLE t (n INT)");
    writer.ask("INSERT INTO t VALUES (1)");
    postgres_server replica{{.replica_of = &primary}};
    EXPECT_EQ(replica.sql("SELECT n FROM t"), "1") << "what was there";
    writer.ask("INSERT INTO t VALUES (2)");
    EXPECT_TRUE(cli_tests::comes_true(cli_tests::patience,
                                      [&] { return replica.sql("SELECT max(n) FROM t") == "2"; }));
    EXPECT_THROW(postgres_link{replica.url()}.ask("INSERT INTO t VALUES (3)"), std::runtime_error);

    replica.pause();
    writer.ask("INSERT INTO t VALUES (3)"); // it does not wait
    replica.restart();
    EXPECT_TRUE(cli_tests::comes_true(cli_tests::patience,
                                      [&] { return replica.sql("SELECT max(n) FROM t") == "3"; }));

    primary.kill();
    replica.promote();
    postgres_link{replica.url()}.ask("INSERT INTO t VALUES (4)");
    replica.restart();
    EXPECT_EQ(postgres_link{replica.url()}.ask("SELECT max(n) FROM t"), "4");
    EXPECT_THROW(replica.promote(), std::runtime_error) << "it follows nobody";
}

TEST_F(postgres_fixture, does_not_commit_before_a_synchronous_replica_has_it) {
    const postgres_server primary{{.over = encryption::tls, .password = "secret"}};
    primary.sql("CREATE TABLE t (n INT)");
    postgres_server replica{{.over = encryption::tls,
                             .password = "secret",
                             .replica_of = &primary,
                             .commits = replication::synchronous}};
    replica.pause();
    auto written = std::async([&] { return primary.sql("INSERT INTO t VALUES (1)"); });
    EXPECT_EQ(written.wait_for(200ms), std::future_status::timeout);
    replica.resume();
    written.get();
    replica.promote();
    EXPECT_EQ(postgres_link{replica.url() + "?sslmode=require"}.ask("SELECT current_user"),
              "holdfast");
    EXPECT_EQ(replica.sql("SELECT n FROM t"), "1");
}

TEST_F(postgres_fixture, dies_with_a_killed_test_even_while_it_is_paused) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    cli_tests::reader told{cli_tests::descriptor{ends[0]}};
    cli_tests::descriptor telling{ends[1]};
    const pid_t test = ::fork();
    if (test == 0) {
        postgres_server server;
        const postgres_link link{server.url()};
        server.pause();
        auto pids = std::to_string(server.pid());
        for (const auto& one : cli::descendants_of(server.pid()))
            pids += ' ' + std::to_string(one.pid);
        pids += '\n';
        static_cast<void>(::write(telling.number(), pids.data(), pids.size()));
        for (;;)
            ::pause();
    }
    telling.close();
    std::istringstream pids{told.line().value_or("")};
    const std::vector<pid_t> processes{std::istream_iterator<pid_t>{pids}, {}};
    ASSERT_GT(processes.size(), 2U);
    const auto data =
        std::filesystem::read_symlink("/proc/" + std::to_string(processes[0]) + "/cwd");

    ::kill(test, SIGKILL);
    ::waitpid(test, nullptr, 0);
    for (const auto pid : processes)
        EXPECT_TRUE(cli_tests::is_gone_within(pid, cli_tests::patience));

    // What its owner would have done.
    call_or_throw({"sh", "-c", "ipcrm -m $(awk 'NR == 7 { print $2 }' $0/postmaster.pid)", data});
    std::filesystem::remove_all(data.parent_path());
}

} // namespace
} // namespace holdfast::servers
