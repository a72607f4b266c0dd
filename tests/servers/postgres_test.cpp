#include "servers/postgres.hpp"
#include "servers/postgres_link.hpp"

#include <gtest/gtest.h>

namespace holdfast::servers {
namespace {

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

} // namespace
} // namespace holdfast::servers
