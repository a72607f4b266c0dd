// What a person reads, how soon, and with which exit code, when the engine is Redis.

#include "servers/redis.hpp"
#include "workshop.hpp"

#include <gmock/gmock.h>

#include <algorithm>

using namespace std::chrono_literals;

namespace holdfast::cli_tests {
namespace {

using servers::durability;
using servers::redis_options;
using servers::redis_server;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// It forgets nothing, so nobody waits because it has just been started.
[[nodiscard]] redis_options remembers() {
    return {.data = durability::append_only, .settings = {"appendfsync always"}};
}

class on_redis : public workshop {
protected:
    void SetUp() override { HOLDFAST_NEEDS(redis_server::missing()); }

    /// The program said one sentence that has this in it, and nothing else.
    static void expect_sentence(const outcome& how, int code, const std::string& part) {
        EXPECT_EQ(how.code, code) << how.err;
        EXPECT_EQ(how.out, "");
        EXPECT_THAT(how.err, AllOf(StartsWith("holdfast: "), HasSubstr(part)));
        EXPECT_EQ(std::count(how.err.begin(), how.err.end(), '\n'), 1) << how.err;
    }
    [[nodiscard]] static outcome run_on(const std::string& url, const std::string& name = "job") {
        return holdfast({"run", "-w", "1s", "-u", url, name, "--", "echo", "held"});
    }
};

TEST_F(on_redis, a_lock_is_held_seen_and_taken_by_force) {
    const redis_server server{remembers()};
    const auto url = server.url();
    EXPECT_EQ(run_on(url).out, "held\n");
    auto holder =
        start({"run", "-u", url, "job", "--", "sh", "-c", "echo $HOLDFAST_FENCE; exec sleep 60"});
    EXPECT_GT(std::stoll(holder.out.line().value_or("0")), 0);
    EXPECT_EQ(holdfast({"run", "-n", "-u", url, "job", "--", "true"}).code, 1);
    EXPECT_EQ(holdfast({"run", "-n", "-E", "9", "-u", url, "job", "--", "true"}).code, 9);
    EXPECT_THAT(holdfast({"ls", "-u", url}).out, HasSubstr("job"));
    EXPECT_THAT(holdfast({"show", "-u", url, "job"}).out, HasSubstr("held by"));
    EXPECT_EQ(holdfast({"release", "job", "--force", "-u", url}).code, 0);
    EXPECT_EQ(holder.exit_code(), 76) << "lost";
    EXPECT_EQ(holdfast({"show", "-u", url, "job"}).code, 1);
}

TEST_F(on_redis, a_server_that_is_not_there_is_named) {
    std::string url;
    {
        const redis_server server;
        url = server.url();
    }
    expect_sentence(run_on(url), 69, "Connection refused");
    expect_sentence(
        holdfast({"run", "-n", "-u", url, "job", "--", "true"}), 69, "Connection refused");
    expect_sentence(holdfast({"doctor", url}), 69, "Connection refused");
    EXPECT_EQ(holdfast({"ls", "-u", url}).code, 69);
    EXPECT_EQ(holdfast({"show", "-u", url, "job"}).code, 69);
    EXPECT_EQ(holdfast({"release", "job", "--force", "-u", url}).code, 69);
}

TEST_F(on_redis, a_wrong_password_is_77_and_never_shown) {
    auto o = remembers();
    o.password = "right";
    const redis_server server{o};
    EXPECT_EQ(run_on(server.url()).out, "held\n");
    expect_sentence(run_on("redis://" + server.address()), 77, "wants a password");
    const auto wrong = "redis://:hunter2@" + server.address();
    expect_sentence(run_on(wrong), 77, "refused user or password");
    expect_sentence(holdfast({"doctor", wrong}), 77, "refused user or password");
    EXPECT_EQ(holdfast({"ls", "-u", wrong}).code, 77);
    for (const auto& how :
         {run_on(wrong), holdfast({"doctor", wrong}), holdfast({"ls", "-u", wrong})})
        EXPECT_THAT(how.err + how.out, Not(HasSubstr("hunter2")));
}

TEST_F(on_redis, a_bad_url_is_64_and_shows_no_password) {
    for (const char* const url : {"redis://:hunter2",
                                  "redis://h:x",
                                  "redis://h?nonsense=1",
                                  "redis:h",
                                  "redis://u:a?hunter2@h",
                                  "redis+sentinel://h",
                                  "redis://h?timeout=fast"}) {
        const auto how = run_on(url);
        expect_sentence(how, 64, "redis: ");
        EXPECT_THAT(how.err, Not(HasSubstr("hunter2"))) << url;
    }
}

TEST_F(on_redis, a_replica_grants_nothing) {
    const redis_server primary{remembers()};
    auto o = remembers();
    o.replica_of = primary.port();
    const redis_server replica{o};
    expect_sentence(run_on(replica.url()), 69, "it is a replica");
}

TEST_F(on_redis, a_key_that_holds_something_else_is_left_alone) {
    const redis_server server{remembers()};
    server.ask({"SET", "text", "mine"});
    server.ask({"HSET", "user", "name", "Ann"});
    expect_sentence(run_on(server.url(), "text"), 77, "holds something else");
    EXPECT_EQ(holdfast({"release", "text", "--force", "-u", server.url()}).code, 1);
    EXPECT_EQ(holdfast({"release", "user", "--force", "-u", server.url()}).code, 77);
    EXPECT_EQ(server.ask({"GET", "text"}).text, "mine");
    EXPECT_EQ(server.ask({"HGET", "user", "name"}).text, "Ann");
    EXPECT_EQ(holdfast({"ls", "-u", server.url()}).out, "") << "no data among the locks";
}

TEST_F(on_redis, a_server_that_drops_locks_is_refused_and_says_what_to_do) {
    auto o = remembers();
    o.settings.insert(o.settings.end(), {"maxmemory 100mb", "maxmemory-policy allkeys-lru"});
    const redis_server server{o};
    expect_sentence(run_on(server.url()), 77, "noeviction");
    EXPECT_EQ(run_on(server.url() + "?eviction=allow").out, "held\n");
    expect_sentence(holdfast({"doctor", server.url()}), 77, "noeviction");
    EXPECT_THAT(holdfast({"doctor", server.url() + "?eviction=allow"}).out,
                HasSubstr("CONFIG SET maxmemory-policy noeviction"));
}

TEST_F(on_redis, a_server_that_was_just_started_and_may_have_forgotten_grants_nothing_yet) {
    const redis_server server;
    expect_sentence(run_on(server.url()), 69, "may have forgotten locks");
    EXPECT_EQ(run_on(server.url() + "?quarantine=0").out, "held\n");
    EXPECT_EQ(holdfast({"run",
                        "-w",
                        "20s",
                        "-u",
                        server.url() + "?quarantine=2s",
                        "job",
                        "--",
                        "echo",
                        "held"})
                  .out,
              "held\n")
        << "who waits long enough, gets it";
}

TEST_F(on_redis, a_server_that_stands_still_keeps_nobody) {
    redis_server server{remembers()};
    server.pause();
    const auto before = boot_clock::now();
    EXPECT_EQ(run_on(server.url()).code, 69);
    EXPECT_LT(boot_clock::now() - before, 8s);
    EXPECT_EQ(holdfast({"ls", "-u", server.url()}).code, 69);
    server.resume();
    EXPECT_EQ(run_on(server.url()).out, "held\n");
}

TEST_F(on_redis, a_waiter_survives_a_restart_of_the_server) {
    redis_server server{remembers()};
    auto holder = start({"run",
                         "-u",
                         server.url(),
                         "--ttl",
                         "2s",
                         "job",
                         "--",
                         "sh",
                         "-c",
                         "echo ready; exec sleep 60"});
    ASSERT_EQ(holder.out.line(), "ready");
    auto waiter = start({"run", "-u", server.url(), "-w", "25s", "job", "--", "echo", "held"});
    EXPECT_TRUE(waiter.runs_for(300ms));
    server.restart();
    EXPECT_TRUE(waiter.runs_for(300ms)) << "it is still held";
    holder.signal(SIGTERM);
    EXPECT_EQ(waiter.end().out, "held\n");
}

TEST_F(on_redis, tls_against_a_server_in_the_clear_is_guessed) {
    const redis_server server{remembers()};
    const auto how = holdfast({"doctor", "rediss://" + server.address() + "?connect_timeout=1s"});
    expect_sentence(how, 69, "TLS");
}

TEST_F(on_redis, a_server_under_tls_is_not_talked_to_in_the_clear_nor_without_trust) {
    auto o = remembers();
    o.over = servers::encryption::tls;
    const redis_server server{o};
    EXPECT_EQ(run_on("redis://" + server.address()).code, 69);
    expect_sentence(run_on("rediss://" + server.address()), 69, "TLS");
    EXPECT_EQ(run_on("rediss://" + server.address() + "?verify=no").out, "held\n");
}

} // namespace
} // namespace holdfast::cli_tests
