// What a person reads, how soon, and with which exit code, when the engine is ZooKeeper.

#include "on_a_server.hpp"
#include "servers/zookeeper.hpp"
#include "servers/zookeeper_ensemble.hpp"
#include "servers/zookeeper_tree.hpp"

using namespace std::chrono_literals;

namespace holdfast::cli_tests {
namespace {

using servers::zookeeper_ensemble;
using servers::zookeeper_server;
using servers::zookeeper_tree;
using testing::HasSubstr;
using testing::Not;

class on_zookeeper : public on_a_server {
protected:
    void SetUp() override { HOLDFAST_NEEDS(zookeeper_server::missing()); }
};

TEST_F(on_zookeeper, a_lock_is_held_seen_and_taken_by_force) {
    const zookeeper_server server;
    expect_that_a_lock_is_held_seen_and_taken_by_force(server.url());
}

TEST_F(on_zookeeper, a_holder_can_be_asked_to_release) {
    const zookeeper_server server;
    auto holder = start_holding_on(server.url());
    EXPECT_EQ(holdfast({"release", "job", "--ask", "-u", server.url()}).code, 0);
    EXPECT_TRUE(holder.err.until("somebody asks for the lock 'job'")) << holder.err.seen();
    holder.write("\n");
    EXPECT_EQ(holder.exit_code(), 0);
    EXPECT_EQ(holdfast({"release", "job", "--ask", "-u", server.url()}).code, 1) << "nobody has it";
}

TEST_F(on_zookeeper, a_server_that_is_not_there_is_named) {
    std::string url;
    {
        const zookeeper_server server;
        url = server.url();
    }
    expect_sentence(run_on(url), 69, "refuses connections");
    expect_sentence(
        holdfast({"run", "-n", "-u", url, "job", "--", "true"}), 69, "refuses connections");
    expect_sentence(holdfast({"doctor", url}), 69, "refuses connections");
    expect_looking_says(url, 69, "refuses connections");
}

TEST_F(on_zookeeper, a_server_that_stands_still_keeps_nobody_longer_than_he_wants_to_wait) {
    zookeeper_server server;
    server.pause();
    expect_sentence(run_on(server.url() + "?connect_timeout=10m"), 69, "does not answer");
    const auto soon = server.url() + "?connect_timeout=500ms";
    expect_sentence(
        holdfast({"run", "-n", "-u", soon, "job", "--", "true"}), 69, "does not answer");
    expect_looking_says(soon, 69, "does not answer");
    server.resume();
    EXPECT_EQ(run_on(server.url()).out, "held\n");
}

TEST_F(on_zookeeper, servers_without_a_majority_say_so) {
    // Without local sessions, such a server lets in nobody whom it did not know before.
    zookeeper_ensemble ensemble{
        {.settings = {"localSessionsEnabled=true", "localSessionsUpgradingEnabled=true"},
         .properties = {"readonlymode.enabled=true"}}};
    const auto url = ensemble.url();
    auto holder = start_holding_on(url + "?session=20s");
    const auto stays = ensemble.follower();
    for (std::size_t i = 0; i < zookeeper_ensemble::members; ++i)
        if (i != stays)
            ensemble.member(i).kill();
    EXPECT_TRUE(comes_true(30s, [&] { return ensemble.member(stays).mode() == "read-only"; }))
        << ensemble.member(stays).mode();
    expect_sentence(run_on(url), 69, "no majority");
    expect_looking_says(url, 69, "no majority");
    // Who only wants to look, may.
    const auto looking = ensemble.member(stays).url() + "?read_only=yes";
    const auto seen = holdfast({"ls", "-u", looking});
    EXPECT_THAT(seen.out, HasSubstr("job")) << seen.err;
    EXPECT_EQ(run_on(looking).code, 69);
    for (std::size_t i = 0; i < zookeeper_ensemble::members; ++i)
        if (i != stays)
            ensemble.restart(i);
    EXPECT_EQ(holdfast({"run", "-n", "-u", url, "other", "--", "echo", "held"}).out, "held\n");
}

TEST_F(on_zookeeper, a_waiter_survives_a_restart_of_the_server) {
    zookeeper_server server;
    expect_that_a_waiter_survives_a_restart(server);
}

// Stopped, all of it, as when a machine is put to sleep: whoever wakes up first says that it is
// over, and why, and the command never does.
TEST_F(on_zookeeper, who_was_stopped_past_its_session_does_not_act_and_says_why) {
    const zookeeper_server server;
    const auto url = server.url() + "?session=2s";
    auto holder = start({"run",
                         "-u",
                         url,
                         "job",
                         "--",
                         "sh",
                         "-c",
                         "echo ready; read x; echo acted >" + path("acted")});
    ASSERT_EQ(holder.out.line(), "ready");
    const auto guardian = guardian_of(holder);
    const auto command = child_of(guardian);
    for (const auto who : {command, guardian, holder.pid()})
        ::kill(who, SIGSTOP);
    holder.write("\n");
    EXPECT_EQ(holdfast({"run", "-w", "20s", "-u", url, "job", "--", "true"}).code, 0);
    for (const auto who : {holder.pid(), guardian})
        ::kill(who, SIGCONT);
    EXPECT_TRUE(holder.tree.ends_within(20s));
    const auto ended = holder.end();
    EXPECT_EQ(ended.code, 76);
    EXPECT_THAT(ended.err, HasSubstr("lost"));
    EXPECT_EQ(read("acted"), "");
}

TEST_F(on_zookeeper, nodes_with_an_access_list_are_for_those_on_it) {
    const zookeeper_server server;
    const auto of = [&](const std::string& who, const std::string& acl) {
        return "zookeeper://" + who + "@" + server.address() + "/ours?acl=" + acl;
    };
    auto holder = start_holding_on(of("ann:hunter2", "creator"));
    EXPECT_EQ(holdfast({"run", "-n", "-u", of("ann:hunter2", "creator"), "job", "--", "true"}).code,
              1);
    EXPECT_THAT(holdfast({"ls", "-u", of("ann:hunter2", "creator")}).out, HasSubstr("job"));
    const auto nobody = server.url() + "/ours";
    for (const auto& url : {nobody, of("ann:hunter3", "creator"), of("bob:hunter2", "creator")}) {
        expect_sentence(run_on(url), 77, "access list");
        expect_sentence(holdfast({"release", "job", "--force", "-u", url}), 77, "access list");
        EXPECT_THAT(run_on(url).err, Not(HasSubstr("hunter")));
    }
    holder.write("\n");
    EXPECT_EQ(holder.exit_code(), 0);

    auto visible = start_holding_on(of("ann:hunter2", "creator%2Bread"), "seen");
    EXPECT_THAT(holdfast({"show", "-u", nobody, "seen"}).out, HasSubstr("held by"));
    expect_sentence(run_on(nobody, "seen"), 77, "access list");
    visible.write("\n");
    EXPECT_EQ(visible.exit_code(), 0);
}

TEST_F(on_zookeeper, a_path_that_holds_something_else_is_left_alone) {
    const zookeeper_server server;
    zookeeper_tree tree{server.address()};
    tree.create("/config");
    tree.create("/config/colour", "blue");
    expect_sentence(run_on(server.url(), "/config"), 64, "'colour'");
    EXPECT_EQ(tree.children("/config"), std::vector<std::string>{"colour"});
    EXPECT_EQ(holdfast({"release", "/config", "--force", "-u", server.url()}).code, 1);
    EXPECT_EQ(tree.at("/config/colour")->data, "blue");
}

TEST_F(on_zookeeper, a_bad_url_is_64_and_shows_no_password) {
    for (const char* const url : {"zookeeper://:hunter2",
                                  "zookeeper://h:x",
                                  "zookeeper://h?nonsense=1",
                                  "zookeeper:h",
                                  "zookeeper://u:hunter2@h?session=soon",
                                  "zookeeper://h?acl=all",
                                  "zookeeper://h//double"}) {
        const auto how = run_on(url);
        expect_sentence(how, 64, "zookeeper: ");
        EXPECT_THAT(how.err, Not(HasSubstr("hunter2"))) << url;
    }
}

TEST_F(on_zookeeper, a_host_that_is_not_there_is_named) {
    expect_sentence(run_on("zookeeper://no-such-host.invalid"), 69, "no-such-host.invalid");
}

TEST_F(on_zookeeper, the_doctor_says_what_there_is) {
    const zookeeper_server server;
    const auto alone = holdfast({"doctor", server.url()});
    EXPECT_THAT(alone.out, HasSubstr("standalone")) << alone.err;
    zookeeper_ensemble ensemble;
    const auto three = holdfast({"doctor", ensemble.url()});
    EXPECT_THAT(three.code, testing::AnyOf(0, 1)) << three.err; // 1: it finds a busy machine slow
    EXPECT_THAT(three.out, HasSubstr("leader"));
}

} // namespace
} // namespace holdfast::cli_tests
