// The programs of examples/sql, as somebody would run them, and what they left in the database.

#include "promise.hpp"
#include "servers/mariadb.hpp"
#include "servers/postgres.hpp"

namespace holdfast {
namespace {

template <class Server> void expect_that_the_late_one_was_refused(const char* program) {
    HOLDFAST_NEEDS(Server::missing());
    const Server server;
    const auto said = cli_tests::call({program, server.url()});
    EXPECT_EQ(said.code, 0) << said.err;
    EXPECT_EQ(said.out, "ours counted, the late one was refused\n") << promise_broken;
    EXPECT_EQ(server.sql("SELECT balance FROM account"), "100") << promise_broken;
}

TEST(sql_examples, a_late_update_is_refused_on_postgres) {
    expect_that_the_late_one_was_refused<servers::postgres_server>(
        HOLDFAST_GUARDED_UPDATE_POSTGRES);
}

TEST(sql_examples, a_late_update_is_refused_on_mariadb) {
    expect_that_the_late_one_was_refused<servers::mariadb_server>(HOLDFAST_GUARDED_UPDATE_MYSQL);
}

} // namespace
} // namespace holdfast
