#include "backends/redis/url.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <unistd.h>

using namespace std::chrono_literals;

namespace holdfast::redis::test {
namespace {

[[nodiscard]] std::string refusal(std::string_view rest, std::string_view scheme = "redis") {
    try {
        (void)options_of(scheme, rest);
        return {};
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), make_error_code(errc::bad_option));
        return e.what();
    }
}

[[nodiscard]] bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

/// A file with this in it, gone with its owner.
class written {
public:
    explicit written(std::string_view text) {
        const int fd = ::mkstemp(path_.data());
        ::close(fd);
        std::ofstream{path_, std::ios::binary} << text;
    }
    ~written() { std::remove(path_.c_str()); }
    written(const written&) = delete;
    written& operator=(const written&) = delete;
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_ = testing::TempDir() + "holdfast-url-XXXXXX";
};

TEST(redis_url, means_this_machine_unless_it_says_otherwise) {
    const auto o = options_of("redis", "//");
    ASSERT_EQ(o.servers.size(), 1U);
    EXPECT_EQ(o.servers[0].host, "127.0.0.1");
    EXPECT_EQ(o.servers[0].port, 6379);
    EXPECT_FALSE(o.secure);
    EXPECT_EQ(o.topology, topology::single);
    EXPECT_EQ(o.layout, layout::redisson);
    EXPECT_EQ(o.db, 0);
}

TEST(redis_url, names_host_port_user_password_and_database) {
    const auto o = options_of("redis", "//me:s%40crt%3A%2F%3F@db.example:7000/3");
    EXPECT_EQ(o.servers[0].host, "db.example");
    EXPECT_EQ(o.servers[0].port, 7000);
    EXPECT_EQ(o.user, "me");
    EXPECT_EQ(o.password, "s@crt:/?");
    EXPECT_EQ(o.db, 3);
    EXPECT_EQ(options_of("redis", "//:pw@h").password, "pw");
    EXPECT_EQ(options_of("redis", "//:pw@h").user, "");
    EXPECT_EQ(options_of("redis", "//:a@b@h").password, "a@b") << "the last @ ends it";
    EXPECT_EQ(options_of("redis", "//:a/b@h/2").password, "a/b");
    EXPECT_EQ(options_of("redis", "//h/2").db, 2);
    EXPECT_EQ(options_of("redis", "//u:p@h?prefix=a@b").prefix, "a@b");
    EXPECT_EQ(options_of("redis", "//h?prefix=a%40b").prefix, "a@b");
}

TEST(redis_url, takes_ipv6_addresses_in_brackets) {
    const auto o = options_of("redis", "//[::1]:7001");
    EXPECT_EQ(o.servers[0].host, "::1");
    EXPECT_EQ(o.servers[0].port, 7001);
    EXPECT_EQ(options_of("redis", "//[fe80::1]").servers[0].port, 6379);
    EXPECT_TRUE(has(refusal("//[::1"), "[::1]:6379"));
    EXPECT_TRUE(has(refusal("//[::1]x"), "after the bracket"));
    EXPECT_TRUE(has(refusal("//[::1]:"), "followed by the port"));
    EXPECT_TRUE(has(refusal("//::1:6379"), "brackets"));
}

TEST(redis_url, knows_several_topologies) {
    const auto s = options_of("redis+sentinel", "//a,b:1,[::2]:3/main");
    EXPECT_EQ(s.topology, topology::sentinel);
    EXPECT_EQ(s.primary_name, "main");
    ASSERT_EQ(s.servers.size(), 3U);
    EXPECT_EQ(s.servers[0].port, 26379);
    EXPECT_EQ(s.servers[1].port, 1);
    EXPECT_EQ(s.servers[2].host, "::2");
    const auto c = options_of("redis+cluster", "//a,b");
    EXPECT_EQ(c.topology, topology::cluster);
    EXPECT_EQ(c.servers[1].port, 6379);
    EXPECT_EQ(options_of("redis+replicas", "//a,b").topology, topology::replicas);
    EXPECT_TRUE(options_of("rediss", "//a").secure);
    EXPECT_TRUE(options_of("redis+cluster", "//a?tls=yes").secure);
    EXPECT_FALSE(options_of("redis+cluster", "//a?tls=no").secure);
}

TEST(redis_url, takes_the_path_of_a_unix_socket) {
    const auto o = options_of("redis+unix", "//:pw@/run/a%20b.sock?db=2");
    EXPECT_EQ(o.servers[0].host, "/run/a b.sock");
    EXPECT_EQ(o.servers[0].port, 0);
    EXPECT_EQ(o.password, "pw");
    EXPECT_EQ(o.db, 2);
    EXPECT_EQ(refusal("///" + std::string(106, 'x'), "redis+unix"), "");
    EXPECT_TRUE(has(refusal("///" + std::string(107, 'x'), "redis+unix"), "107"));
    EXPECT_TRUE(has(refusal("//run/x", "redis+unix"), "begins with /"));
    EXPECT_TRUE(has(refusal("//", "redis+unix"), "begins with /"));
}

TEST(redis_url, sets_every_option) {
    const written secret{"top secret\r\n"}, other{"other"};
    const auto o = options_of(
        "rediss",
        "//h?layout=plain&announce=spublish&prefix=a%26b:&password_file=" + secret.path() +
            "&sentinel_password_file=" + other.path() +
            "&ca=/ca&cert=/cert&key=/key&verify=no&connect_timeout=500ms&timeout=2&"
            "connections=4&acknowledge=2&acknowledge_within=3s&quarantine=1m&"
            "fence_retention=2d&eviction=allow&db=5&&");
    EXPECT_EQ(o.layout, layout::plain);
    EXPECT_EQ(o.announce, announcing::spublish);
    EXPECT_EQ(o.prefix, "a&b:");
    EXPECT_EQ(o.password, "top secret");
    EXPECT_EQ(o.sentinel_password, "other");
    EXPECT_EQ(o.tls.ca_file, "/ca");
    EXPECT_EQ(o.tls.certificate_file, "/cert");
    EXPECT_EQ(o.tls.key_file, "/key");
    EXPECT_FALSE(o.tls.verify);
    EXPECT_EQ(o.connect_timeout, 500ms);
    EXPECT_EQ(o.silence, 2s);
    EXPECT_EQ(o.connections, 4U);
    EXPECT_EQ(o.acknowledge, 2U);
    EXPECT_EQ(o.acknowledge_within, 3s);
    EXPECT_EQ(o.quarantine, 1min);
    EXPECT_EQ(o.fence_retention, 48h);
    EXPECT_TRUE(o.allow_eviction);
    EXPECT_EQ(o.db, 5);
    EXPECT_EQ(options_of("redis", "//h?announce=publish").announce, announcing::publish);
    EXPECT_EQ(options_of("redis", "//h?announce=both").announce, announcing::both);
    EXPECT_EQ(options_of("redis", "//h").semaphores, semaphores::expirable);
    EXPECT_EQ(options_of("redis", "//h?semaphore=plain").semaphores, semaphores::plain);
    EXPECT_EQ(options_of("redis", "//h?quarantine=0").quarantine, 0s);
    EXPECT_EQ(options_of("redis", "//h?quarantine=2h").quarantine, 2h);
}

TEST(redis_url, refuses_with_one_sentence_what_makes_no_sense) {
    const struct {
        const char* rest;
        const char* says;
    } all[] = {
        {"h", "begins with //"},
        {"//h:", "followed by the port"},
        {"//h:0", "1 to 65535"},
        {"//h:65536", "1 to 65535"},
        {"//h:-1", "1 to 65535"},
        {"//h:99999999999999999999", "1 to 65535"},
        {"//h/x", "the database after the slash"},
        {"//h/-1", "the database after the slash"},
        {"//a,b", "redis+replicas://"},
        {"//user@h", "a user needs a password"},
        {"//h?layout=x", "redisson or plain"},
        {"//h?announce=x", "publish, spublish or both"},
        {"//h?semaphore=x", "expirable or plain"},
        {"//h?semaphore=plain&layout=plain", "no semaphores with layout=plain"},
        {"//h?verify=maybe", "yes or no"},
        {"//h?tls=maybe", "yes or no"},
        {"//h?eviction=x", "allow or refuse"},
        {"//h?timeout=x", "a time such as"},
        {"//h?timeout=-1s", "a time such as"},
        {"//h?timeout=1w", "a time such as"},
        {"//h?timeout=99999999999s", "a time such as"},
        {"//h?quarantine=1000000000d", "hundred years"},
        {"//h?timeout=0", "more than nothing"},
        {"//h?connect_timeout=0", "more than nothing"},
        {"//h?acknowledge_within=0", "more than nothing"},
        {"//h?fence_retention=1m", "an hour at least"},
        {"//h?connections=0", "from 1 to 64"},
        {"//h?connections=65", "from 1 to 64"},
        {"//h?acknowledge=101", "from 0 to 100"},
        {"//h?db=x", "a number from"},
        {"//h?nonsense=1", "no option 'nonsense'"},
        {"//h?layout", "'layout' has no value"},
        {"//h?prefix=%4", "two hexadecimal digits"},
        {"//h?prefix=%zz", "two hexadecimal digits"},
        {"//h?prefix=%00", "no NUL"},
        {"//h?ca=/ca", "belong to TLS"},
        {"//h?verify=no", "belong to TLS"},
        {"//h?cert=/c&tls=yes", "given together"},
        {"//h?password_file=/no/such/file", "/no/such/file cannot be read"},
        {"//h?password_file=/", "cannot be read"},
    };
    for (const auto& [rest, says] : all) {
        const auto said = refusal(rest);
        EXPECT_TRUE(has(said, says)) << rest << ": " << said;
        EXPECT_LT(said.size(), 450U);
        EXPECT_FALSE(has(said, "\n"));
    }
    EXPECT_TRUE(has(refusal("//" + std::string(300, 'h')), "255"));
    EXPECT_TRUE(has(refusal("//a/2", "redis+cluster"), "only database 0"));
    EXPECT_TRUE(has(refusal("//a", "redis+sentinel"), "redis+sentinel://"));
    const written nothing{"\n"};
    EXPECT_TRUE(has(refusal("//h?password_file=" + nothing.path()), "is empty"));
}

TEST(redis_url, never_shows_a_password) {
    for (const char* const rest : {"//:hunter2@h:x",
                                   "//:hunter2@h:99999",
                                   "//u:hunter2@h?nonsense=1",
                                   "//u:hunter2@h/x",
                                   "//u:hunter2@a,b",
                                   "//:hunter2",
                                   "//u:hunter2",
                                   "//u:hunter2%@h",
                                   "//u:hunter2%zz@h",
                                   "//u:hunter2%00@h",
                                   "//u:x?hunter2@h",
                                   "//u:x?hunter2=y@h",
                                   "//u:x?y=z&hunter2@h",
                                   "//u:x?y=hunter2@h",
                                   "//u:x?y&hunter2@h",
                                   "//hunter2@h",
                                   "u:hunter2@h"}) {
        const auto said = refusal(rest);
        EXPECT_NE(said, "") << rest;
        EXPECT_FALSE(has(said, "hunter2")) << rest << ": " << said;
        EXPECT_FALSE(has(said, "hunt")) << rest << ": " << said;
    }
}

} // namespace
} // namespace holdfast::redis::test
