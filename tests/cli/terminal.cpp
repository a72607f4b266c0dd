// On a terminal, under a shell with job control: holdfast run and its command are one job.
//
//   test ══ pseudo terminal ══ sh -i ─▶ holdfast run ─▶ guardian ─▶ command
//
// What is typed is echoed, so each text we wait for is one that was never typed as it stands.

#include "tmux.hpp"
#include "workshop.hpp"

#include <gmock/gmock.h>

#include <csignal>
#include <cstdlib>
#include <pty.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace holdfast::cli_tests {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

constexpr const char* control_c = "\x03";
constexpr const char* control_z = "\x1a";

std::size_t count_of(const std::string& what, const std::string& in) {
    std::size_t count = 0;
    for (auto at = in.find(what); at != std::string::npos; at = in.find(what, at + 1)) {
        ++count;
    }
    return count;
}

class shell {
public:
    shell() {
        int master = -1;
        winsize size{.ws_row = 50, .ws_col = 200, .ws_xpixel = 0, .ws_ypixel = 0};
        pid_ = ::forkpty(&master, nullptr, nullptr, &size);
        if (pid_ == 0) {
            become_a_shell();
        }
        keys_ = descriptor{::dup(master)};
        screen = reader{descriptor{master}};
        type("H=" + holdfast_program() + "; echo sh-$((40+2))\n");
        EXPECT_TRUE(screen.until("sh-42"));
    }
    ~shell() {
        keys_.close();
        screen = {}; // the terminal hangs up
        if (!is_gone_within(pid_, 10s)) {
            ADD_FAILURE() << "the shell did not notice that its terminal went away";
            ::kill(pid_, SIGKILL);
        }
        ::waitpid(pid_, nullptr, 0);
    }
    shell(const shell&) = delete;
    shell& operator=(const shell&) = delete;

    void type(const std::string& text) const {
        ASSERT_EQ(::write(keys_.number(), text.data(), text.size()),
                  static_cast<ssize_t>(text.size()));
    }

    /// Types it and waits until the screen shows `answer`.
    testing::AssertionResult dialogue(const std::string& typed, const std::string& answer) {
        type(typed);
        return screen.until(answer) ? testing::AssertionSuccess()
                                    : testing::AssertionFailure() << "the shell ended";
    }

    reader screen;

private:
    [[noreturn]] static void become_a_shell() {
        for (int signal = 1; signal < 32; ++signal) {
            std::signal(signal, SIG_DFL);
        }
        ::setenv("PS1", "$ ", 1);
        ::unsetenv("ENV");
        ::execlp("bash", "bash", "--norc", "--noprofile", "--noediting", "-i", nullptr);
        ::_exit(127);
    }

    pid_t pid_ = -1;
    descriptor keys_;
};

class terminal : public workshop {};

TEST_F(terminal, the_command_reads_what_is_typed) {
    shell sh;
    EXPECT_TRUE(
        sh.dialogue("$H run a -c 'echo go-$((1+1)); read x; echo got-$x-$((1+2))'\n", "go-2"));
    EXPECT_TRUE(sh.dialogue("hello\n", "got-hello-3"));
}

TEST_F(terminal, control_c_reaches_the_command_once) {
    shell sh;
    EXPECT_TRUE(sh.dialogue("$H run a -c 'trap \"echo in-\\$((2+2))t\" INT; echo go-$((1+1)); "
                            "until [ \"$x\" = end ]; do read x; done'; echo code-$?-$((1+2))\n",
                            "go-2"));
    EXPECT_TRUE(sh.dialogue(control_c, "in-4t"));
    EXPECT_TRUE(sh.dialogue("end\n", "code-0-3"));
    EXPECT_EQ(count_of("in-4t", sh.screen.seen()), 1U);
}

TEST_F(terminal, control_c_ends_a_plain_command) {
    shell sh;
    EXPECT_TRUE(sh.dialogue("$H run a -c 'echo go-$((1+1)); exec sleep 1000'\n", "go-2"));
    sh.type(control_c);
    EXPECT_TRUE(sh.dialogue("echo code-$?-$((1+2))\n", "code-130-3"));
}

TEST_F(terminal, control_z_stops_the_job_and_fg_continues_it) {
    shell sh;
    EXPECT_TRUE(
        sh.dialogue("$H run a -c 'echo go-$((1+1)); read x; echo got-$x-$((1+2))'\n", "go-2"));
    EXPECT_TRUE(sh.dialogue(control_z, "Stopped"));
    EXPECT_TRUE(sh.dialogue("echo back-$((3+3))\n", "back-6")); // the shell has the terminal again
    EXPECT_EQ(holdfast({"run", "-n", "a", "--", "true"}).code, 1);
    EXPECT_TRUE(sh.dialogue("fg\n", "run a"));
    EXPECT_TRUE(sh.dialogue("hello\n", "got-hello-3"));
    EXPECT_TRUE(sh.dialogue("echo code-$?-$((1+2))\n", "code-0-3"));
}

TEST_F(terminal, a_background_job_that_reads_is_stopped_like_any_other) {
    shell sh;
    sh.type("$H run a -c 'read x; echo got-$x-$((1+2))' &\n");
    EXPECT_TRUE(comes_true(patience, [&] {
        sh.type("jobs\n");
        return !sh.screen.ends_within(50ms) && count_of("Stopped", sh.screen.seen()) > 0;
    }));
    sh.type("fg\n");
    EXPECT_TRUE(sh.dialogue("hello\n", "got-hello-3"));
}

TEST_F(terminal, a_terminal_that_goes_away_takes_the_job_with_it) {
    {
        shell sh;
        EXPECT_TRUE(sh.dialogue("exec $H run a -c 'echo go-$((1+1)); exec sleep 1000'\n", "go-2"));
    } // TearDown finds out whether anybody is left
    EXPECT_EQ(holdfast({"run", "-w", "20", "a", "--", "true"}).code, 0);
}

TEST_F(terminal, a_shell_inside_has_its_own_jobs) {
    shell sh;
    EXPECT_TRUE(sh.dialogue("$H run a -- bash --norc --noprofile --noediting -i\n", "$ "));
    EXPECT_TRUE(sh.dialogue("echo in-$((1+1))-$HOLDFAST_NAME\n", "in-2-a"));
    EXPECT_TRUE(sh.dialogue("sh -c 'echo up-$((3+4)); read x; echo got-$x-$((5+5))'\n", "up-7"));
    EXPECT_TRUE(sh.dialogue(control_z, "Stopped")); // the inner job alone
    EXPECT_TRUE(sh.dialogue("echo still-$((2+2))-$HOLDFAST_NAME\n", "still-4-a"));
    sh.type("fg\n");
    EXPECT_TRUE(sh.dialogue("hello\n", "got-hello-10"));
    sh.type("exit 7\n");
    EXPECT_TRUE(sh.dialogue("echo code-$?-$((1+2))\n", "code-7-3"));
}

TEST_F(terminal, a_waiter_shows_who_holds_it_and_clears_its_line) {
    auto holder = start_holding({"a"}, "read x");
    shell sh;
    EXPECT_TRUE(sh.dialogue("$H run a -c 'echo go-$((1+1))'\n", "waiting for a, held by "));
    EXPECT_TRUE(sh.screen.until("pid " + std::to_string(guardian_of(holder))));
    EXPECT_TRUE(sh.screen.until("1st in line"));
    holder.write("\n");
    EXPECT_TRUE(sh.screen.until("\r\x1b[Kgo-2"));
    EXPECT_THAT(sh.screen.seen(), HasSubstr("\x1b[2mholdfast: waiting"));
}

TEST_F(terminal, no_color_means_no_colour) {
    auto holder = start_holding({"a"}, "read x");
    shell sh;
    EXPECT_TRUE(sh.dialogue("NO_COLOR=1 $H run a -c 'echo go-$((1+1))'\n", "1st in line"));
    EXPECT_THAT(sh.screen.seen(), Not(HasSubstr("\x1b[2m")));
    holder.write("\n");
    EXPECT_TRUE(sh.screen.until("go-2"));
}

TEST_F(terminal, a_dumb_terminal_gets_no_live_line) {
    auto holder = start_holding({"a"}, "read x");
    shell sh;
    sh.type("TERM=dumb $H run a -c 'echo go-$((1+1))'\n");
    until_waiting("a", 1);
    holder.write("\n");
    EXPECT_TRUE(sh.screen.until("go-2"));
    EXPECT_THAT(sh.screen.seen(), Not(HasSubstr("waiting for")));
    EXPECT_THAT(sh.screen.seen(), Not(HasSubstr("\x1b[K")));
}

TEST_F(terminal, the_waiting_line_fits_the_window_and_vanishes) {
    if (tmux::is_missing()) {
        GTEST_SKIP() << "there is no tmux here";
    }
    const std::string name = "注文/長い名前-" + std::string(60, 'n');
    auto holder = start_holding({name}, "read x");
    const tmux window{folder(),
                      "sh -c '" + holdfast_program() + " run " + name +
                          " -- sh -c \"echo go-on; read x\"'",
                      {.columns = 78, .rows = 5}};
    EXPECT_TRUE(window.shows("1st in line"));
    EXPECT_THAT(window.screen(), HasSubstr("waiting for 注文/"));
    EXPECT_THAT(window.screen(), HasSubstr("…, held by"));
    EXPECT_THAT(window.screen(), testing::MatchesRegex("[^\n]*\n+")); // one line
    window.resize({.columns = 200, .rows = 5});
    EXPECT_TRUE(window.shows(name)); // all of it, now that there is room
    holder.write("\n");
    EXPECT_TRUE(window.shows("go-on"));
    EXPECT_THAT(window.screen(), testing::StartsWith("go-on\n")); // no trace is left
    window.press({"Enter"});
    EXPECT_TRUE(window.ends());
}

TEST_F(terminal, control_c_while_waiting_gives_up) {
    auto holder = start_holding({"a"}, "read x");
    shell sh;
    EXPECT_TRUE(sh.dialogue("$H run a -c 'echo go-$((1+1))'\n", "1st in line"));
    sh.type(control_c);
    EXPECT_TRUE(sh.dialogue("echo code-$?-$((1+2))\n", "code-130-3"));
    until_waiting("a", 0);
    EXPECT_THAT(sh.screen.seen(), Not(HasSubstr("go-2")));
}

TEST_F(terminal, control_z_while_waiting_stops_the_job_which_then_waits_with_its_place) {
    auto holder = start_holding({"a"}, "read x");
    shell sh;
    EXPECT_TRUE(sh.dialogue("$H run a -c 'echo go-$((1+1))'\n", "1st in line"));
    EXPECT_TRUE(sh.dialogue(control_z, "Stopped"));
    until_waiting("a", 1);
    holder.write("\n");
    EXPECT_EQ(holder.exit_code(), 0);
    EXPECT_TRUE(sh.dialogue("echo quiet-$((3+3))\n", "quiet-6"));
    EXPECT_THAT(sh.screen.seen(), Not(HasSubstr("go-2"))); // granted, but the job is stopped
    EXPECT_TRUE(sh.dialogue("fg\n", "go-2"));
}

TEST_F(terminal, a_contended_lock_is_said_to_a_human) {
    auto holder = start_holding({"a"}, "read x");
    shell sh;
    EXPECT_TRUE(sh.dialogue("$H run -n a true\n", "'a' is held by somebody else"));
    EXPECT_TRUE(sh.dialogue("echo code-$?-$((1+2))\n", "code-1-3"));
}

TEST_F(terminal, an_empty_list_is_said_to_a_human) {
    shell sh;
    EXPECT_TRUE(sh.dialogue("$H ls\n", "no locks held"));
}

} // namespace
} // namespace holdfast::cli_tests
