// The guardian: nobody of the command outlives the right to work, whoever is killed.

#include "workshop.hpp"

#include <gmock/gmock.h>

#include <csignal>
#include <string>

namespace holdfast::cli_tests {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// A child, a grandchild in a session of its own, and one whose parents are gone. All ignore TERM.
constexpr const char* family = R"sh(trap '' TERM HUP
    sleep 1000 &
    setsid sh -c 'echo $$ >> pids; sleep 1000; sleep 1000' &
    (setsid sh -c 'sh -c "echo \$\$ >> pids; sleep 1000; sleep 1000" & exit 0' &)
    until [ "$(wc -l < pids)" = 2 ]; do sleep 0.01; done
    echo born
    sleep 1000; sleep 1000)sh";

class guarding : public workshop {
protected:
    program start_family(std::vector<std::string> options) {
        write("pids", "");
        auto running = start_holding(options, "cd " + folder().string() + "; " + family);
        EXPECT_EQ(running.out.line(), "born");
        return running;
    }

    /// Takes the lock, and says of each of the family whether it still runs at that moment.
    program start_witness() {
        return start({"run",
                      "-w",
                      "25",
                      "a",
                      "-c",
                      "cd " + folder().string() +
                          "; for p in $(cat pids); do"
                          " s=$(cut -d' ' -f3 /proc/$p/stat 2>/dev/null);"
                          " case \"$s\" in ''|Z|X) echo gone;; *) echo alive $s;; esac; done"});
    }

    void expect_family_gone_before(program& witness) {
        EXPECT_EQ(witness.out.all(), "gone\ngone\n");
        EXPECT_EQ(witness.exit_code(), 0);
    }
};

TEST_F(guarding, if_the_front_is_killed_so_is_everybody_before_the_next_is_granted) {
    for (int round = 0; round < 5; ++round) {
        auto running = start_family({"a"});
        auto witness = start_witness();
        until_waiting("a", 1);
        const auto killed = boot_clock::now();
        running.signal(SIGKILL);
        EXPECT_TRUE(running.tree.ends_within(30s));
        expect_family_gone_before(witness);
        EXPECT_LT(boot_clock::now() - killed, 20s); // promptly: not after a ttl of 30 s
    }
}

TEST_F(guarding, if_the_guardian_is_killed_so_is_everybody_before_the_next_is_granted) {
    for (int round = 0; round < 5; ++round) {
        auto running = start_family({"a"});
        auto witness = start_witness();
        until_waiting("a", 1);
        const auto killed = boot_clock::now();
        ::kill(guardian_of(running), SIGKILL);
        EXPECT_TRUE(running.tree.ends_within(30s));
        EXPECT_EQ(running.exit_code(), 70);
        EXPECT_THAT(running.err.all(), HasSubstr("guardian"));
        expect_family_gone_before(witness);
        EXPECT_LT(boot_clock::now() - killed, 20s);
    }
}

TEST_F(guarding, if_both_are_killed_the_lock_stays_with_those_who_are_left) {
    auto running =
        start_holding({"a"},
                      "setsid sh -c 'echo $$ > " + path("pid") + "; sleep 1000' & until [ -s " +
                          path("pid") + " ]; do sleep 0.01; done; echo born; exec sleep 1000");
    ASSERT_EQ(running.out.line(), "born");
    const auto guardian = guardian_of(running);
    ::kill(running.pid(), SIGSTOP); // so that neither sees the other die
    ::kill(guardian, SIGKILL);
    running.signal(SIGKILL);
    EXPECT_TRUE(is_gone_within(guardian, 10s));
    EXPECT_EQ(holdfast({"run", "-w", "1500ms", "a", "--", "true"}).code, 1);
    ::kill(-std::stoi(read("pid")), SIGKILL);
    EXPECT_TRUE(running.tree.ends_within(30s));
    EXPECT_EQ(holdfast({"run", "-w", "10", "a", "--", "true"}).code, 0);
}

TEST_F(guarding, a_fork_storm_is_killed_too) {
    auto running = start_holding({"a"}, "f() { while :; do (:) & (:) & wait; done; }; f & f & f");
    running.signal(SIGKILL);
    EXPECT_TRUE(running.tree.ends_within(20s));
    EXPECT_EQ(holdfast({"run", "-w", "10", "a", "--", "true"}).code, 0);
}

TEST_F(guarding, what_the_command_leaves_running_keeps_the_lock) {
    ASSERT_EQ(call({"mkfifo", path("fifo")}).code, 0);
    auto running = start_holding({"a"}, "(read x <" + path("fifo") + ") >&- 2>&- & exit 8");
    EXPECT_EQ(running.exit_code(), 8); // at once, like flock
    EXPECT_EQ(running.out.all(), "");  // and its output is closed: nobody waits for the guardian
    EXPECT_EQ(holdfast({"run", "-n", "a", "--", "true"}).code, 1);
    EXPECT_EQ(holdfast({"show", "a"}).code, 0);
    write("fifo", "go\n");
    EXPECT_TRUE(running.tree.ends_within(30s));
    EXPECT_EQ(holdfast({"run", "-w", "10", "a", "--", "true"}).code, 0);
}

TEST_F(guarding, what_the_command_leaves_running_can_be_ended_by_its_guardian) {
    auto running = start_holding({"a"}, "sleep 1000 >&- 2>&- & read x; exit 0");
    const auto guardian = guardian_of(running);
    running.write("\n");
    EXPECT_EQ(running.exit_code(), 0);
    ::kill(guardian, SIGTERM);
    EXPECT_TRUE(running.tree.ends_within(30s));
    EXPECT_TRUE(is_gone_within(guardian, 10s));
}

// ----------------------------------------------------------------------------------------- lost

TEST_F(guarding, a_lost_lock_stops_the_command_with_76) {
    auto running = start_holding({"--ttl", "3s", "a"},
                                 "trap 'echo asked; exit 0' TERM; "
                                 "while :; do sleep 0.05; done");
    ASSERT_EQ(holdfast({"release", "a", "--force"}).code, 0);
    EXPECT_EQ(running.exit_code(), 76);
    EXPECT_TRUE(running.tree.ends_within(30s));
    EXPECT_THAT(running.err.all(), HasSubstr("holdfast: lost the lock 'a'"));
}

TEST_F(guarding, those_who_ignore_term_are_killed_when_the_lock_is_lost) {
    auto running = start_family({"--ttl", "3s", "a"});
    ASSERT_EQ(holdfast({"release", "a", "--force"}).code, 0);
    EXPECT_TRUE(running.tree.ends_within(30s));
    EXPECT_EQ(running.exit_code(), 76);
}

TEST_F(guarding, a_reader_that_does_not_read_holds_up_nobody) {
    auto running = start_holding({"--ttl", "3s", "a"},
                                 "head -c 65536 /dev/zero >&2; trap '' TERM; echo full; "
                                 "while :; do sleep 0.05; done");
    ASSERT_EQ(running.out.line(), "full");
    ASSERT_EQ(holdfast({"release", "a", "--force"}).code, 0);
    EXPECT_TRUE(running.tree.ends_within(30s));
    EXPECT_EQ(running.exit_code(), 76);
}

TEST_F(guarding, kill_asks_nobody) {
    auto running = start_holding({"--ttl", "3s", "--on-lost", "kill", "a"},
                                 "trap 'echo asked' TERM; while :; do sleep 0.05; done");
    ASSERT_EQ(holdfast({"release", "a", "--force"}).code, 0);
    EXPECT_EQ(running.exit_code(), 76);
    EXPECT_EQ(running.out.all(), "");
}

TEST_F(guarding, ignore_lets_the_command_finish) {
    auto running =
        start_holding({"--ttl", "3s", "--on-lost", "ignore", "a"}, "read x; echo finished; exit 5");
    ASSERT_EQ(holdfast({"release", "a", "--force"}).code, 0);
    EXPECT_TRUE(running.err.until("being lost"));
    running.write("\n");
    EXPECT_EQ(running.out.line(), "finished");
    EXPECT_EQ(running.exit_code(), 5);
}

TEST_F(guarding, a_stopped_guardian_is_killed_at_the_deadline_and_the_command_with_it) {
    auto running = start_family({"--ttl", "3s", "a"});
    const auto guardian = guardian_of(running);
    const auto stopped = boot_clock::now();
    ::kill(guardian, SIGSTOP);
    EXPECT_TRUE(running.tree.ends_within(30s));
    EXPECT_LT(boot_clock::now() - stopped, 3s + 5s);
    EXPECT_EQ(running.exit_code(), 76);
}

TEST_F(guarding, a_stopped_job_keeps_its_lock) {
    auto running = start_holding({"--ttl", "1s", "a"}, "read x; exit 4");
    const auto command = child_of(guardian_of(running));
    ::kill(command, SIGSTOP);
    EXPECT_TRUE(reaches_state(running.pid(), 'T'));
    EXPECT_EQ(holdfast({"run", "-w", "3", "a", "--", "true"}).code, 1); // several ttls later
    ::kill(command, SIGCONT);
    running.write("\n");
    EXPECT_EQ(running.exit_code(), 4);
}

} // namespace
} // namespace holdfast::cli_tests
