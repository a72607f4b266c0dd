// What an error means: for each whether it may have taken effect, and what is done about it.

#include "backends/mysql/errors.hpp"
#include "backends/postgres/errors.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::relational::test {
namespace {

using kind = trouble::kind;

void expect(const trouble& is, kind what, errc code, applied effect) {
    EXPECT_EQ(is.what, what);
    EXPECT_EQ(is.why.code, make_error_code(code));
    EXPECT_EQ(is.why.applied, effect);
}

[[nodiscard]] bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST(postgres_errors, mean_one_thing_each) {
    const struct {
        const char* state;
        kind what;
        errc code;
        applied effect;
    } all[] = {
        {"55P03", kind::blocked, errc::backend_unavailable, applied::no}, // lock_timeout
        {"40P01", kind::again, errc::backend_unavailable, applied::no},   // deadlock
        {"40001", kind::again, errc::backend_unavailable, applied::no},
        {"57014", kind::blocked, errc::backend_unavailable, applied::no}, // statement_timeout
        {"57P01", kind::unusable, errc::backend_unavailable, applied::maybe},
        {"57P02", kind::unusable, errc::backend_unavailable, applied::maybe},
        {"57P03", kind::unusable, errc::backend_unavailable, applied::maybe}, // it is starting
        {"08006", kind::unusable, errc::backend_unavailable, applied::maybe},
        {"25006", kind::elsewhere, errc::backend_unavailable, applied::no},
        {"26000", kind::unusable, errc::backend_unavailable, applied::no},
        {"28P01", kind::plain, errc::backend_refused, applied::no},
        {"28000", kind::plain, errc::backend_refused, applied::no},
        {"3D000", kind::plain, errc::backend_refused, applied::no},
        {"42501", kind::plain, errc::backend_refused, applied::no},
        {"53300", kind::plain, errc::backend_unavailable, applied::no}, // too many connections
        {"53100", kind::plain, errc::backend_unavailable, applied::no}, // disk full
        {"58030", kind::plain, errc::backend_unavailable, applied::no},
        {"22012", kind::plain, errc::backend_refused, applied::no}, // any other
        {"", kind::unusable, errc::backend_unavailable, applied::maybe},
    };
    for (const auto& one : all) {
        SCOPED_TRACE(one.state);
        expect(postgres::trouble_of(one.state, "words"), one.what, one.code, one.effect);
    }
}

TEST(postgres_errors, are_told_in_one_line_without_a_frame) {
    EXPECT_EQ(postgres::trouble_of("3D000", "database \"x\" does not exist").why.detail,
              "database \"x\" does not exist");
    EXPECT_EQ(postgres::trouble_of("", "server closed the connection unexpectedly\n\tThis …\n")
                  .why.detail,
              "server closed the connection unexpectedly");
    EXPECT_EQ(postgres::trouble_of("42501", std::string(1000, 'x')).why.detail.size(), 300U);
    EXPECT_TRUE(has(postgres::trouble_of("25006", "").why.detail, "replica"));
    EXPECT_TRUE(has(postgres::trouble_of("26000", "").why.detail, "pooler"));
}

TEST(postgres_errors, of_connecting_have_done_nothing_yet) {
    const struct {
        const char* words;
        kind what;
        errc code;
        const char* told;
    } all[] = {
        {"connection to server at \"127.0.0.1\", port 5 failed: Connection refused\n\tIs the "
         "server running on that host and accepting TCP/IP connections?\n",
         kind::unusable,
         errc::backend_unavailable,
         "Connection refused"},
        {"connection to server on socket \"/s\" failed: No such file or directory\n\tIs …",
         kind::unusable,
         errc::backend_unavailable,
         "No such file or directory"},
        {"connection to server at \"h\" (10.0.0.1), port 5 failed: FATAL:  28P01: password "
         "authentication failed for user \"me\"\nLOCATION:  auth_failed, auth.c:335\n",
         kind::plain,
         errc::backend_refused,
         "the server refused user or password"},
        {"connection to server at \"h\", port 5 failed: FATAL:  3D000: database \"d\" does not "
         "exist\nLOCATION:  InitPostgres, postinit.c:941\n",
         kind::plain,
         errc::backend_refused,
         "database \"d\" does not exist"},
        {"connection to server at \"h\", port 5 failed: FATAL:  57P03: the database system is "
         "starting up\n",
         kind::unusable,
         errc::backend_unavailable,
         "the database system is starting up"},
        {"connection to server at \"h\", port 5 failed: FATAL:  53300: sorry, too many clients "
         "already\n",
         kind::plain,
         errc::backend_unavailable,
         "sorry, too many clients already"},
        {"connection to server at \"h\", port 5 failed: fe_sendauth: no password supplied\n",
         kind::unusable,
         errc::backend_refused,
         "the server wants a password"},
        {"connection to server at \"h\", port 5 failed: SSL error: certificate verify failed\n",
         kind::plain,
         errc::backend_refused,
         "SSL error: certificate verify failed"},
        {"connection to server at \"h\", port 5 failed: server does not support SSL, but SSL was "
         "required\n",
         kind::plain,
         errc::backend_refused,
         "server does not support SSL, but SSL was required"},
        {"connection to server at \"h\", port 5 failed: SSL SYSCALL error: EOF detected\n",
         kind::unusable,
         errc::backend_unavailable,
         "SSL SYSCALL error: EOF detected"},
        {"connection to server at \"h\", port 5 failed: expected authentication request from "
         "server, but received J\n",
         kind::unusable,
         errc::backend_unavailable,
         "somebody answers who is no PostgreSQL server"},
    };
    for (const auto& one : all) {
        SCOPED_TRACE(one.words);
        const auto is = postgres::no_connection(one.words);
        expect(is, one.what, one.code, applied::no);
        EXPECT_EQ(is.why.detail, one.told);
    }
}

TEST(mysql_errors, mean_one_thing_each) {
    const struct {
        unsigned number;
        kind what;
        errc code;
        applied effect;
    } all[] = {
        {1205, kind::blocked, errc::backend_unavailable, applied::no}, // waited for a row
        {1213, kind::again, errc::backend_unavailable, applied::no},   // deadlock
        {1317, kind::blocked, errc::backend_unavailable, applied::no},
        {1969, kind::blocked, errc::backend_unavailable, applied::no},
        {3572, kind::blocked, errc::backend_unavailable, applied::no}, // NOWAIT
        {1290, kind::elsewhere, errc::backend_unavailable, applied::no},
        {1792, kind::elsewhere, errc::backend_unavailable, applied::no},
        {1836, kind::elsewhere, errc::backend_unavailable, applied::no},
        {1045, kind::plain, errc::backend_refused, applied::no},
        {1698, kind::plain, errc::backend_refused, applied::no},
        {1044, kind::plain, errc::backend_refused, applied::no},
        {1049, kind::plain, errc::backend_refused, applied::no},
        {1142, kind::plain, errc::backend_refused, applied::no},
        {1130, kind::plain, errc::backend_refused, applied::no},
        {1146, kind::unusable, errc::backend_unavailable, applied::no},
        {1040, kind::plain, errc::backend_unavailable, applied::no}, // too many connections
        {1114, kind::plain, errc::backend_unavailable, applied::no}, // full
        {1053, kind::unusable, errc::backend_unavailable, applied::maybe},
        {1927, kind::unusable, errc::backend_unavailable, applied::maybe},
        {2002, kind::unusable, errc::backend_unavailable, applied::no},
        {2003, kind::unusable, errc::backend_unavailable, applied::no},
        {2006, kind::unusable, errc::backend_unavailable, applied::maybe}, // gone away
        {2013, kind::unusable, errc::backend_unavailable, applied::maybe}, // lost
        {1064, kind::plain, errc::backend_refused, applied::no},           // any other
    };
    for (const auto& one : all) {
        SCOPED_TRACE(one.number);
        expect(mysql::trouble_of(one.number, "words"), one.what, one.code, one.effect);
    }
}

TEST(mysql_errors, of_tls_are_refusals_only_if_time_will_not_change_them) {
    const auto tls = [](const char* words) { return mysql::trouble_of(2026, words); };
    expect(tls("TLS/SSL error: self-signed certificate in certificate chain"),
           kind::plain,
           errc::backend_refused,
           applied::no);
    expect(tls("SSL is required, but the server does not support it"),
           kind::plain,
           errc::backend_refused,
           applied::no);
    expect(tls("TLS/SSL error: unexpected eof while reading"),
           kind::unusable,
           errc::backend_unavailable,
           applied::maybe);
}

TEST(mysql_errors, are_told_in_the_servers_words_or_in_better_ones) {
    EXPECT_EQ(mysql::trouble_of(1049, "Unknown database 'x'").why.detail, "Unknown database 'x'");
    EXPECT_TRUE(has(mysql::trouble_of(1045, "Access denied …").why.detail, "user or password"));
    EXPECT_TRUE(has(mysql::trouble_of(1290, "").why.detail, "replica"));
    EXPECT_EQ(mysql::trouble_of(2002, "Can't connect to server on 'h' (11)").why.detail,
              "nobody takes connections there");
    EXPECT_EQ(mysql::trouble_of(1064, std::string(1000, 'x')).why.detail.size(), 300U);
}

} // namespace
} // namespace holdfast::relational::test
