#include "backends/relational/url.hpp"

#include <holdfast/error.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <system_error>
#include <unistd.h>

using namespace std::chrono_literals;

namespace holdfast::relational::test {
namespace {

[[nodiscard]] std::string refusal(std::string_view rest) {
    try {
        (void)options_of("mysql", rest);
        return "understood";
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), make_error_code(errc::bad_option));
        return e.what();
    }
}

[[nodiscard]] bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

[[nodiscard]] sql::options with(const std::string& option) {
    return options_of("postgres", "//h/d?" + option);
}

TEST(relational_url, has_defaults_for_all_but_the_database) {
    const auto o = options_of("postgres", "///shop");
    ASSERT_EQ(o.servers.size(), 1U);
    EXPECT_EQ(o.servers[0].host, "127.0.0.1");
    EXPECT_EQ(o.servers[0].port, 0) << "the engine's usual one";
    EXPECT_EQ(o.database, "shop");
    EXPECT_EQ(o.user, "");
    EXPECT_EQ(o.password, "");
    EXPECT_EQ(o.table, "holdfast");
    EXPECT_EQ(o.mode, sql::locking::lease);
    EXPECT_EQ(o.held_rows, 16U);
    EXPECT_EQ(o.steal, sql::stealing::clock);
    EXPECT_TRUE(o.make_tables);
    EXPECT_FALSE(o.tls.wanted);
    EXPECT_TRUE(o.tls.verify);
    EXPECT_EQ(o.connect_timeout, 3s);
    EXPECT_EQ(o.connections, 4U);
    EXPECT_EQ(o.fence_retention, 30 * 24h);
}

TEST(relational_url, names_user_password_servers_and_database) {
    const auto o =
        options_of("postgres", "//me:s%40cret%3A%2F%3F@one.example:7000,[::1],two/sh%6Fp");
    EXPECT_EQ(o.user, "me");
    EXPECT_EQ(o.password, "s@cret:/?");
    ASSERT_EQ(o.servers.size(), 3U);
    EXPECT_EQ(o.servers[0].host, "one.example");
    EXPECT_EQ(o.servers[0].port, 7000);
    EXPECT_EQ(o.servers[1].host, "::1");
    EXPECT_EQ(o.servers[2].host, "two");
    EXPECT_EQ(o.servers[2].port, 0);
    EXPECT_EQ(o.database, "shop");
    EXPECT_EQ(options_of("mysql", "//me@h/d").user, "me");
    EXPECT_EQ(options_of("mysql", "//me:a/b@c@h/d").password, "a/b@c") << "so it was meant";
}

TEST(relational_url, has_options) {
    EXPECT_EQ(with("mode=lease").mode, sql::locking::lease);
    EXPECT_EQ(with("mode=row").mode, sql::locking::row);
    EXPECT_EQ(with("mode=session").mode, sql::locking::session);
    EXPECT_EQ(with("held_rows=40").held_rows, 40U);
    EXPECT_EQ(with("steal=clock").steal, sql::stealing::clock);
    EXPECT_EQ(with("steal=observe").steal, sql::stealing::observe);
    EXPECT_EQ(with("steal=both").steal, sql::stealing::both);
    EXPECT_EQ(with("table=our_locks2").table, "our_locks2");
    EXPECT_FALSE(with("make_tables=no").make_tables);
    EXPECT_TRUE(with("tls=yes").tls.wanted);
    EXPECT_FALSE(with("tls=yes&verify=no").tls.verify);
    EXPECT_EQ(with("tls=yes&ca=/a%20b").tls.ca_file, "/a b");
    const auto papers = with("tls=yes&cert=/c&key=/k");
    EXPECT_EQ(papers.tls.certificate_file, "/c");
    EXPECT_EQ(papers.tls.key_file, "/k");
    EXPECT_EQ(with("connect_timeout=500ms").connect_timeout, 500ms);
    EXPECT_EQ(with("connections=12").connections, 12U);
    EXPECT_EQ(with("fence_retention=2h").fence_retention, 2h);
    const auto two = with("steal=both&connections=3");
    EXPECT_EQ(two.steal, sql::stealing::both);
    EXPECT_EQ(two.connections, 3U);
}

TEST(relational_url, reads_a_password_from_a_file) {
    auto path = testing::TempDir() + "holdfast-url-XXXXXX";
    ::close(::mkstemp(path.data()));
    std::ofstream{path} << "hunter2\n";
    EXPECT_EQ(with("password_file=" + path).password, "hunter2");
    EXPECT_EQ(options_of("mysql", "//me:other@h/d?password_file=" + path).password, "other")
        << "what stands in the URL is meant";
    std::remove(path.c_str());
    EXPECT_TRUE(has(refusal("//h/d?password_file=" + path), "cannot be read"));
}

TEST(relational_url, says_in_one_sentence_what_it_does_not_understand) {
    const struct {
        const char* rest;
        const char* part;
    } all[] = {
        {"h/d", "begins with //"},
        {"", "begins with //"},
        {"//h", "the database comes after the host"},
        {"//h/", "the database comes after the host"},
        {"//h?steal=both", "the database comes after the host"},
        {"//h/a/b", "contains no /"},
        {"//h:0/d", "1 to 65535"},
        {"//h:70000/d", "1 to 65535"},
        {"//h:x/d", "1 to 65535"},
        {"//h:/d", "followed by the port"},
        {"//[::1/d", "brackets"},
        {"//h/%zz", "two hexadecimal digits"},
        {"//h/%00", "contains no NUL"},
        {"//h/d?mode=table", "mode is lease, row or session"},
        {"//h/d?held_rows=0", "from 1 to 1000"},
        {"//h/d?steal=never", "steal is clock, observe or both"},
        {"//h/d?steal=", "steal is clock, observe or both"},
        {"//h/d?steal", "'steal' has no value"},
        {"//h/d?steel=clock", "there is no option 'steel'"},
        {"//h/d?make_tables=perhaps", "make_tables is yes or no"},
        {"//h/d?tls=1", "tls is yes or no"},
        {"//h/d?tls=yes&verify=maybe", "verify is yes or no"},
        {"//h/d?table=", "table is made of"},
        {"//h/d?table=Locks", "table is made of"},
        {"//h/d?table=2locks", "table is made of"},
        {"//h/d?table=a-b", "table is made of"},
        {"//h/d?table=a;drop", "table is made of"},
        {"//h/d?table=a%27b", "table is made of"},
        {"//h/d?table=l234567890l234567890l234567890l234567890x", "at most 40"},
        {"//h/d?connect_timeout=soon", "connect_timeout is a time"},
        {"//h/d?connect_timeout=0", "more than nothing"},
        {"//h/d?connections=2", "from 3 to 100"},
        {"//h/d?connections=101", "from 3 to 100"},
        {"//h/d?connections=many", "from 3 to 100"},
        {"//h/d?fence_retention=59s", "a minute at least"},
        {"//h/d?fence_retention=x", "fence_retention is a time"},
        {"//h/d?tls=yes&cert=/c", "cert and key are given together"},
        {"//h/d?tls=yes&key=/k", "cert and key are given together"},
        {"//h/d?ca=/a", "write tls=yes"},
        {"//h/d?cert=/c&key=/k", "write tls=yes"},
        {"//h/d?verify=no", "write tls=yes"},
    };
    for (const auto& one : all) {
        const auto said = refusal(one.rest);
        EXPECT_TRUE(has(said, one.part)) << one.rest << ": " << said;
        EXPECT_TRUE(has(said, "mysql: ")) << said;
    }
}

TEST(relational_url, shows_no_password_whatever_is_wrong) {
    for (const char* const rest : {"//me:hunter2",
                                   "//:hunter2",
                                   "//me:hunter2@h",
                                   "//me:hunter2@h:x/d",
                                   "//me:hunter2%zz@h/d",
                                   "//me:a?hunter2@h/d",
                                   "//me:a?hunter2=1@h/d",
                                   "//me:hunter2@h/d?x=1",
                                   "//me:hunter2@h/d?steal=hunter2",
                                   "//me:hunter2@h/d?table=hunter2-"}) {
        const auto said = refusal(rest);
        EXPECT_FALSE(has(said, "hunter2")) << rest << ": " << said;
        EXPECT_NE(said, "understood") << rest;
    }
}

TEST(relational_url, options_from_a_program_are_checked_as_well) {
    sql::options o;
    EXPECT_THROW(check("mysql", o), std::system_error) << "no database";
    o.database = "d";
    EXPECT_NO_THROW(check("mysql", o));
    o.servers.clear();
    EXPECT_THROW(check("mysql", o), std::system_error);
    o.servers = {{}};
    o.connections = 2;
    EXPECT_THROW(check("mysql", o), std::system_error);
    o.connections = 3;
    o.held_rows = 0;
    EXPECT_THROW(check("mysql", o), std::system_error);
}

} // namespace
} // namespace holdfast::relational::test
