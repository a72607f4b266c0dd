#include "servers/certificates.hpp"
#include "servers/mariadb.hpp"
#include "servers/mariadb_link.hpp"

#include <gtest/gtest.h>

namespace holdfast::servers {
namespace {

class mariadb_fixture : public ::testing::Test {
protected:
    void SetUp() override { HOLDFAST_NEEDS(mariadb_server::missing()); }
};

TEST_F(mariadb_fixture, has_a_user_who_may_do_everything_in_one_database) {
    const mariadb_server server;
    EXPECT_EQ(server.sql("SELECT user()"), "root@localhost");
    EXPECT_EQ(mariadb_link{{.port = server.port()}}.ask("SHOW DATABASES"),
              "holdfast\ninformation_schema");
    EXPECT_THROW(mariadb_link({.port = server.port(), .user = "somebody"}), std::runtime_error);
}

TEST_F(mariadb_fixture, speaks_tls_and_asks_for_certificates) {
    const auto& papers = our_certificates();
    const mariadb_server one_way{{.over = encryption::tls}};
    const mariadb_server mutual{{.over = encryption::mutual_tls}};
    const auto is_encrypted = [](const mariadb_address& where) {
        return mariadb_link{where}.ask_for("Value", "SHOW STATUS LIKE 'Ssl_cipher'") != "";
    };
    EXPECT_TRUE(is_encrypted({.port = one_way.port(), .authority = papers.authority}));
    EXPECT_THROW(is_encrypted({.port = one_way.port(), .authority = papers.stranger_authority}),
                 std::runtime_error);
    EXPECT_THROW(is_encrypted({.port = one_way.port()}), std::runtime_error);
    EXPECT_THROW(is_encrypted({.port = mutual.port(), .authority = papers.authority}),
                 std::runtime_error);
    EXPECT_TRUE(is_encrypted({.port = mutual.port(),
                              .authority = papers.authority,
                              .certificate = papers.client,
                              .certificate_key = papers.client_key}));
    EXPECT_EQ(mutual.sql("SELECT 1"), "1");
}

TEST_F(mariadb_fixture, follows_a_primary_and_is_promoted) {
    mariadb_server primary{{.password = "secret", .changes = binary_log::kept}};
    const auto link = [](const mariadb_server& to) {
        return mariadb_link{{.port = to.port(), .password = "secret"}};
    };
    const auto writer = link(primary);
    writer.ask("CREATE TABLE t (n INT)");
    writer.ask("INSERT INTO t VALUES (1)");
    mariadb_server replica{{.password = "secret", .replica_of = &primary}};
    EXPECT_EQ(link(replica).ask("SELECT n FROM t"), "1") << "what was there";
    const auto has = [&](const std::string& largest) {
        return cli_tests::comes_true(
            cli_tests::patience, [&] { return replica.sql("SELECT max(n) FROM t") == largest; });
    };
    writer.ask("INSERT INTO t VALUES (2)");
    EXPECT_TRUE(has("2"));
    EXPECT_THROW(link(replica).ask("INSERT INTO t VALUES (3)"), std::runtime_error);

    replica.pause();
    writer.ask("INSERT INTO t VALUES (3)"); // it does not wait
    replica.restart();
    EXPECT_TRUE(has("3"));

    primary.kill();
    replica.promote();
    link(replica).ask("INSERT INTO t VALUES (4)");
    replica.restart();
    link(replica).ask("INSERT INTO t VALUES (5)");
    EXPECT_EQ(link(replica).ask("SELECT max(n) FROM t"), "5");
    EXPECT_THROW(replica.promote(), std::runtime_error) << "it follows nobody";
}

TEST_F(mariadb_fixture, promoted_has_all_that_it_was_told) {
    mariadb_server primary{{.over = encryption::tls, .changes = binary_log::kept}};
    mariadb_server replica{{.over = encryption::tls, .replica_of = &primary}};
    replica.sql("STOP SLAVE; CHANGE MASTER TO master_delay = 1; START SLAVE"); // slow, but told
    primary.sql("CREATE TABLE t (n INT)");
    primary.sql("INSERT INTO t VALUES (1)");
    const auto all = primary.sql("SELECT @@gtid_binlog_pos");
    const mariadb_link root{{.unix_socket = replica.unix_socket(), .user = "root"}};
    EXPECT_TRUE(cli_tests::comes_true(cli_tests::patience, [&] {
        return root.ask_for("Gtid_IO_Pos", "SHOW SLAVE STATUS") == all;
    }));
    primary.kill();
    replica.promote();
    EXPECT_EQ(replica.sql("SELECT n FROM t"), "1");
}

TEST_F(mariadb_fixture, follows_only_who_keeps_a_binary_log) {
    const mariadb_server primary;
    EXPECT_THROW(mariadb_server({.replica_of = &primary}), std::logic_error);
}

} // namespace
} // namespace holdfast::servers
