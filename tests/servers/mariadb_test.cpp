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

} // namespace
} // namespace holdfast::servers
