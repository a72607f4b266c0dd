// What a person reads, how soon, and with which exit code, when the engine is Redis.

#include "on_a_server.hpp"
#include "parsed.hpp"
#include "servers/redis.hpp"
#include "tmux.hpp"

#include <gmock/gmock.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdexcept>
#include <sys/socket.h>

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

/// A port of 127.0.0.1 whose queue is full: who wants to connect hears nothing.
class silent_port {
public:
    explicit silent_port(std::uint16_t port) {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(port);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const auto* address = reinterpret_cast<const sockaddr*>(&to);
        if (::bind(door_.number(), address, sizeof to) != 0 || ::listen(door_.number(), 0) != 0)
            throw std::runtime_error{"no port to be silent on"};
        for (int i = 0; i < 3; ++i) {
            queue_.push_back(made());
            ::connect(queue_.back().number(), address, sizeof to);
        }
    }

private:
    [[nodiscard]] static descriptor made() {
        return descriptor{::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    }
    descriptor door_ = made();
    std::vector<descriptor> queue_;
};

class on_redis : public on_a_server {
protected:
    void SetUp() override { HOLDFAST_NEEDS(redis_server::missing()); }
};

TEST_F(on_redis, a_lock_is_held_seen_and_taken_by_force) {
    const redis_server server{remembers()};
    expect_that_a_lock_is_held_seen_and_taken_by_force(server.url());
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
    expect_looking_says(url, 69, "Connection refused");
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
    expect_looking_says(wrong, 77, "refused user or password");
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
    expect_sentence(holdfast({"release", "user", "--force", "-u", server.url()}), 77, "something");
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
                        "--ttl",
                        "2s", // nobody can have held it for longer
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

TEST_F(on_redis, what_somebody_may_not_do_is_said_in_the_words_of_the_server) {
    const redis_server server{remembers()};
    server.ask({"ACL", "SETUSER", "guest", "on", ">pw", "+ping", "+client|setname"});
    const auto url = "redis://guest:pw@" + server.address();
    expect_sentence(run_on(url), 77, "NOPERM");
    expect_sentence(holdfast({"doctor", url}), 77, "NOPERM");
    expect_looking_says(url, 77, "NOPERM");

    // Who may walk over the keys, and not look at any.
    server.ask({"ACL", "SETUSER", "walker", "on", ">pw", "~*", "+scan", "+get", "+client|setname"});
    const auto walker = "redis://walker:pw@" + server.address();
    auto holder = start({"run", "-u", server.url(), "job", "--", "sh", "-c", "echo ready; read x"});
    ASSERT_EQ(holder.out.line(), "ready");
    expect_looking_says(walker, 77, "NOPERM");
    holder.write("\n");
    EXPECT_EQ(holder.exit_code(), 0);
}

// A server that stands still lets the kernel take connections for it, and says nothing. Nobody here
// waits longer than `patience`, and so not as long as these URLs would let him.
TEST_F(on_redis, a_server_that_stands_still_keeps_nobody_longer_than_he_wants_to_wait) {
    redis_server server{remembers()};
    server.pause();
    expect_sentence(run_on(server.url() + "?connect_timeout=10m&timeout=10m"), 69, "no answer");
    const auto soon = server.url() + "?connect_timeout=500ms";
    expect_sentence(holdfast({"run", "-n", "-u", soon, "job", "--", "true"}), 69, "no answer");
    expect_sentence(holdfast({"doctor", server.url()}), 69, "no answer");
    expect_looking_says(soon, 69, "no answer");
    server.resume();
    EXPECT_EQ(run_on(server.url()).out, "held\n");
}

TEST_F(on_redis, who_waits_at_a_terminal_reads_what_is_in_the_way) {
    if (tmux::is_missing()) {
        GTEST_SKIP() << "there is no tmux here";
    }
    std::string url;
    {
        const redis_server server;
        url = server.url();
    }
    const tmux terminal{folder(), holdfast_program() + " run -u " + url + " job -- true"};
    EXPECT_TRUE(terminal.shows("waiting for job; 127.0.0.1:")) << terminal.screen();
    EXPECT_TRUE(terminal.shows("Connection refused")) << terminal.screen();
}

TEST_F(on_redis, a_host_that_is_not_there_is_named) {
    expect_sentence(run_on("redis://nowhere.invalid"), 69, "nowhere.invalid cannot be found");
    expect_looking_says("redis://nowhere.invalid", 69, "nowhere.invalid cannot be found");
}

TEST_F(on_redis, a_silent_address_is_passed_by_if_the_host_has_another) {
    // 127.0.0.1 comes first, whatever the order in the file: that is how addresses are sorted.
    write("hosts", "127.0.0.9 two-homes\n127.0.0.1 two-homes\n");
    const auto with_hosts = [&](const std::vector<std::string>& command) {
        std::vector<std::string> all{"unshare",
                                     "--map-root-user",
                                     "--mount",
                                     "sh",
                                     "-c",
                                     "mount --bind \"$0\" /etc/hosts && exec \"$@\"",
                                     path("hosts")};
        all.insert(all.end(), command.begin(), command.end());
        return call(all);
    };
    const auto known = with_hosts({"getent", "ahosts", "two-homes"});
    if (known.code != 0)
        GTEST_SKIP() << "nobody may have a hosts file of his own here: " << known.err;
    ASSERT_THAT(known.out, StartsWith("127.0.0.1 "));

    auto o = remembers();
    o.settings.emplace_back("bind 127.0.0.9");
    const redis_server server{o};
    const silent_port silent{server.port()};
    const auto url = "redis://two-homes:" + std::to_string(server.port());
    // One of them alone would be waited for until the connection is given up.
    const auto how = with_hosts({holdfast_program(),
                                 "run",
                                 "-w",
                                 "20s",
                                 "-u",
                                 url + "?connect_timeout=30s",
                                 "job",
                                 "--",
                                 "echo",
                                 "held"});
    EXPECT_EQ(how.out, "held\n") << how.err;
}

TEST_F(on_redis, permits_that_the_dead_would_take_with_them_are_refused_if_that_matters) {
    const redis_server server{remembers()};
    const auto url = server.url() + "?semaphore=plain";
    EXPECT_EQ(holdfast({"run", "-u", url, "-N", "2", "gpu", "--", "true"}).code, 0);
    const auto refused =
        holdfast({"run", "-u", url, "-N", "2", "--require", "death", "gpu", "--", "true"});
    EXPECT_EQ(refused.code, 64);
    EXPECT_THAT(refused.err, HasSubstr("loses the permits of the dead"));
}

TEST_F(on_redis, permits_are_seen_whatever_braces_a_name_has) {
    const redis_server server{remembers()};
    const auto url = server.url();
    for (const char* const name : {"gpu", "{gpu}s", "gpu/{a}", "{all}"}) {
        auto holder =
            start({"run", "-u", url, "-N", "2", name, "--", "sh", "-c", "echo ready; read x"});
        ASSERT_EQ(holder.out.line(), "ready");
        EXPECT_EQ(holdfast({"ls", "-u", url, "--names"}).out, std::string{name} + "\n");
        EXPECT_EQ(holdfast({"ls", "-u", url, "--names", "*g*u*"}).out,
                  name == std::string{"{all}"} ? "" : std::string{name} + "\n");
        EXPECT_THAT(holdfast({"show", "-u", url, name}).out, HasSubstr("a permit"));
        holder.write("\n");
        EXPECT_EQ(holder.exit_code(), 0);
        EXPECT_EQ(holdfast({"ls", "-u", url, "--names"}).out, "");
    }
}

TEST_F(on_redis, watch_follows_a_lock_from_hand_to_hand) {
    redis_server server{remembers()};
    const auto url = server.url();
    const auto expect_event = [](program& watcher, std::string_view what, std::int64_t pid) {
        const auto event = parsed(watcher.out.line().value_or("the end"));
        EXPECT_EQ(event.at("event").as_string(), what);
        EXPECT_EQ(event.at("pid").as_int64(), pid);
        EXPECT_EQ(event.at("name").as_string(), "job");
    };
    const std::string script = "echo ready; read x";
    auto holder = start({"run", "-u", url, "job", "--", "sh", "-c", script});
    ASSERT_EQ(holder.out.line(), "ready");
    const auto first = guardian_of(holder);
    auto watcher = start({"watch", "job", "-u", url, "--json", "--every", "20ms"});
    expect_event(watcher, "held", first);
    auto waiter = start({"run", "-u", url, "job", "--", "sh", "-c", script});
    const auto second = guardian_of(waiter);
    expect_event(watcher, "waits", second);
    holder.write("\n");
    expect_event(watcher, "released", first);
    expect_event(watcher, "granted", second);

    // While the server is away it says so once, and goes on.
    server.kill();
    EXPECT_TRUE(watcher.err.until(server.address())) << watcher.err.seen();
    server.restart();
    EXPECT_TRUE(watcher.err.until("the engine answers again")) << watcher.err.seen();
    waiter.write("\n");
    expect_event(watcher, "released", second);
    watcher.signal(SIGTERM);
    EXPECT_EQ(watcher.exit_code(), 0);
}

TEST_F(on_redis, a_waiter_survives_a_restart_of_the_server) {
    redis_server server{remembers()};
    expect_that_a_waiter_survives_a_restart(server);
}

// Such a server waits for the rest of a command, and would do so for ever.
TEST_F(on_redis, tls_against_a_server_in_the_clear_is_told_soon) {
    const redis_server server{remembers()};
    const auto url = "rediss://" + server.address() + "?connect_timeout=10m&timeout=10m";
    const std::string sentence = "it does not speak TLS: write redis://";
    expect_sentence(holdfast({"run", "-n", "-u", url, "job", "--", "true"}), 69, sentence);
    expect_sentence(holdfast({"run", "-w", "3s", "-u", url, "job", "--", "true"}), 69, sentence);
    expect_sentence(holdfast({"doctor", url}), 69, sentence);
    expect_looking_says(url, 69, sentence);
}

TEST_F(on_redis, a_server_under_tls_is_not_talked_to_in_the_clear_nor_without_trust) {
    auto o = remembers();
    o.over = servers::encryption::tls;
    const redis_server server{o};
    expect_sentence(run_on("redis://" + server.address()), 69, "does it want TLS");
    expect_looking_says("redis://" + server.address(), 69, "does it want TLS");
    expect_sentence(run_on("rediss://" + server.address()), 69, "TLS");
    EXPECT_EQ(run_on("rediss://" + server.address() + "?verify=no").out, "held\n");
}

} // namespace
} // namespace holdfast::cli_tests
