// Signals reach the command as if it ran alone; while there is none, they end the wait.

#include "workshop.hpp"

#include <gmock/gmock.h>

#include <csignal>
#include <sstream>
#include <string>

namespace holdfast::cli_tests {
namespace {

using namespace std::chrono_literals;

class signals : public workshop {
protected:
    /// Says what it hears, and ends with "end".
    static program start_listening(const std::string& more = "") {
        return start_holding({"a"},
                             more + "for s in HUP INT QUIT TERM USR1 USR2 ALRM WINCH; do "
                                    "trap \"echo $s\" $s; done; echo listening; "
                                    "until [ \"$line\" = end ]; do read line; done; exit 0");
    }
};

TEST_F(signals, what_is_sent_to_holdfast_reaches_the_command) {
    auto listening = start_listening();
    ASSERT_EQ(listening.out.line(), "listening");
    const std::vector<std::pair<int, std::string>> sent{{SIGTERM, "TERM"},
                                                        {SIGINT, "INT"},
                                                        {SIGUSR1, "USR1"},
                                                        {SIGUSR2, "USR2"},
                                                        {SIGHUP, "HUP"},
                                                        {SIGQUIT, "QUIT"},
                                                        {SIGALRM, "ALRM"},
                                                        {SIGWINCH, "WINCH"}};
    for (const auto& [number, name] : sent) {
        listening.signal(number);
        EXPECT_EQ(listening.out.line(), name);
    }
    listening.write("end\n");
    EXPECT_EQ(listening.exit_code(), 0);
}

TEST_F(signals, what_is_sent_to_the_guardian_reaches_the_command_too) {
    auto listening = start_listening();
    ASSERT_EQ(listening.out.line(), "listening");
    ::kill(guardian_of(listening), SIGTERM); // the pid that `holdfast ls` shows
    EXPECT_EQ(listening.out.line(), "TERM");
    listening.write("end\n");
    EXPECT_EQ(listening.exit_code(), 0);
}

TEST_F(signals, a_command_that_dies_of_it_is_128_plus_the_signal) {
    auto holder = start_holding({"a"}, "exec sleep 1000");
    holder.signal(SIGTERM);
    EXPECT_EQ(holder.exit_code(), 128 + SIGTERM);
    EXPECT_EQ(holdfast({"run", "-n", "a", "--", "true"}).code, 0);
}

/// As nohup starts it.
std::vector<std::string> ignoring(const std::string& signals,
                                  const std::vector<std::string>& words) {
    std::vector<std::string> all{"sh", "-c", "trap '' " + signals + "; exec \"$@\"", "sh"};
    all.insert(all.end(), words.begin(), words.end());
    return all;
}

/// SigBlk and SigIgn, without what glibc's posix_spawn does to its own two signals above 31.
std::vector<unsigned long> dispositions_in(const std::string& text) {
    std::istringstream words{text};
    std::vector<unsigned long> sets;
    for (std::string label, set; words >> label >> set;) {
        sets.push_back(std::stoul(set, nullptr, 16) & 0x7fffffffUL);
    }
    return sets;
}

TEST_F(signals, what_was_ignored_stays_ignored_and_nothing_else) {
    const std::vector<std::string> look{"grep", "-E", "SigBlk|SigIgn", "/proc/self/status"};
    std::vector<std::string> under{holdfast_program(), "run", "a", "--"};
    under.insert(under.end(), look.begin(), look.end());
    EXPECT_EQ(dispositions_in(call(under).out), (std::vector<unsigned long>{0, 0}));
    EXPECT_EQ(dispositions_in(call(ignoring("HUP CHLD PIPE", under)).out),
              dispositions_in(call(ignoring("HUP CHLD PIPE", look)).out));
    EXPECT_NE(dispositions_in(call(ignoring("HUP CHLD PIPE", look)).out),
              dispositions_in(call(look).out));
}

TEST_F(signals, a_command_that_signals_its_own_group_hears_it_once) {
    auto holder = start_holding({"a"}, "trap 'echo heard' TERM; kill 0; echo done; read x");
    EXPECT_EQ(holder.out.line(), "heard");
    EXPECT_EQ(holder.out.line(), "done");
    holder.write("\n");
    EXPECT_EQ(holder.out.line(), std::nullopt);
    EXPECT_EQ(holder.exit_code(), 0);
}

class signals_while_waiting : public workshop, public testing::WithParamInterface<int> {};

TEST_P(signals_while_waiting, end_the_wait_and_leave_no_place_behind) {
    auto holder = start_holding({"a"}, "read x");
    auto waiter = start({"run", "a", "--", "touch", path("ran")});
    until_waiting("a", 1);
    waiter.signal(GetParam());
    EXPECT_EQ(waiter.exit_code(), 128 + GetParam());
    until_waiting("a", 0);
    holder.write("\n");
    EXPECT_EQ(holder.exit_code(), 0);
    EXPECT_FALSE(std::filesystem::exists(path("ran")));
}

INSTANTIATE_TEST_SUITE_P(all,
                         signals_while_waiting,
                         testing::Values(SIGTERM, SIGINT, SIGHUP, SIGQUIT));

TEST_F(signals, what_was_ignored_does_not_end_a_wait) {
    auto holder = start_holding({"a"}, "read x");
    auto waiter = program{ignoring("HUP", {holdfast_program(), "run", "a", "--", "true"})};
    until_waiting("a", 1);
    waiter.signal(SIGHUP);
    EXPECT_TRUE(waiter.runs_for(300ms));
    holder.write("\n");
    EXPECT_EQ(waiter.exit_code(), 0);
}

TEST_F(signals, a_killed_waiter_leaves_no_place_behind) {
    auto holder = start_holding({"a"}, "read x");
    auto waiter = start({"run", "a", "--", "touch", path("ran")});
    until_waiting("a", 1);
    waiter.signal(SIGKILL);
    until_waiting("a", 0);
    holder.write("\n");
    EXPECT_EQ(holder.exit_code(), 0);
    EXPECT_FALSE(std::filesystem::exists(path("ran")));
}

TEST_F(signals, a_stopped_command_stops_holdfast_and_a_continued_one_continues_it) {
    auto holder = start_holding({"a"}, "read x; exit 6");
    const auto command = child_of(guardian_of(holder));
    ::kill(command, SIGSTOP);
    EXPECT_TRUE(reaches_state(holder.pid(), 'T'));
    ::kill(command, SIGCONT);
    EXPECT_TRUE(reaches_state(holder.pid(), 'S'));
    ::kill(command, SIGSTOP);
    EXPECT_TRUE(reaches_state(holder.pid(), 'T'));
    holder.signal(SIGCONT); // to us alone: passed on
    EXPECT_TRUE(reaches_state(command, 'S'));
    holder.write("\n");
    EXPECT_EQ(holder.exit_code(), 6);
}

TEST_F(signals, a_command_that_is_killed_while_stopped_wakes_holdfast_up) {
    auto holder = start_holding({"a"}, "read x");
    const auto command = child_of(guardian_of(holder));
    ::kill(command, SIGSTOP);
    EXPECT_TRUE(reaches_state(holder.pid(), 'T'));
    ::kill(command, SIGKILL);
    EXPECT_EQ(holder.exit_code(), 128 + SIGKILL);
}

} // namespace
} // namespace holdfast::cli_tests
