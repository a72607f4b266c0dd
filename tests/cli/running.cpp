// `holdfast run`: what the command is given, and what we make of its end.

#include "workshop.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <string>

namespace holdfast::cli_tests {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

class running : public workshop {};

TEST_F(running, ends_as_the_command_ends) {
    EXPECT_EQ(holdfast({"run", "a", "--", "true"}).code, 0);
    EXPECT_EQ(holdfast({"run", "a", "--", "sh", "-c", "exit 37"}).code, 37);
    EXPECT_EQ(holdfast({"run", "a", "--", "sh", "-c", "kill -KILL $$"}).code, 128 + SIGKILL);
    EXPECT_EQ(holdfast({"run", "a", "--", "sh", "-c", "kill -TERM $$"}).code, 128 + SIGTERM);
}

TEST_F(running, says_nothing_of_its_own_when_all_is_well) {
    const auto how = holdfast({"run", "a", "--", "sh", "-c", "exit 3"});
    EXPECT_EQ(how.out, "");
    EXPECT_EQ(how.err, "");
}

TEST_F(running, a_command_that_does_not_exist_is_127_and_leaves_the_lock_free) {
    const auto how = holdfast({"run", "a", "--", "no-such-command"});
    EXPECT_EQ(how.code, 127);
    EXPECT_EQ(how.err, "holdfast: cannot run 'no-such-command': No such file or directory\n");
    EXPECT_EQ(holdfast({"run", "-n", "a", "--", "true"}).code, 0);
}

TEST_F(running, a_file_that_is_no_program_is_126) {
    write("text", "hello");
    const auto how = holdfast({"run", "a", "--", path("text")});
    EXPECT_EQ(how.code, 126);
    EXPECT_THAT(how.err, StartsWith("holdfast: cannot run '"));
    EXPECT_EQ(holdfast({"run", "-n", "a", "--", "true"}).code, 0);
}

TEST_F(running, stdin_is_the_commands) {
    EXPECT_EQ(holdfast({"run", "a", "cat"}, {.environment = {}, .input = "one\ntwo\n"}).out,
              "one\ntwo\n");
}

TEST_F(running, every_byte_comes_through) {
    std::string bytes;
    for (int i = 0; i < 300'000; ++i) {
        bytes += static_cast<char>(i * 7 + i / 256);
    }
    write("bytes", bytes);
    const auto how = holdfast({"run", "a", "--", "cat", path("bytes")});
    EXPECT_TRUE(how.out == bytes);
}

TEST_F(running, the_command_knows_the_name_and_the_fence) {
    const auto script = "echo $HOLDFAST_NAME $HOLDFAST_FENCE";
    const auto first = holdfast({"run", "orders/42", "--", "sh", "-c", script}).out;
    const auto second = holdfast({"run", "orders/42", "--", "sh", "-c", script}).out;
    ASSERT_THAT(first, StartsWith("orders/42 "));
    EXPECT_LT(std::stoll(first.substr(10)), std::stoll(second.substr(10)));
    EXPECT_GT(std::stoll(first.substr(10)), 0);
}

TEST_F(running, permits_have_no_fence_not_even_that_of_an_outer_run) {
    const auto how = holdfast({"run", "-N", "2", "pool", "-c", "echo ${HOLDFAST_FENCE-none}"},
                              {.environment = {"HOLDFAST_FENCE=12"}, .input = ""});
    EXPECT_EQ(how.out, "none\n");
}

TEST_F(running, a_string_goes_to_the_shell_before_or_after_the_name) {
    EXPECT_EQ(holdfast({"run", "a", "-c", "echo $((6*7)); exit 5"}).out, "42\n");
    EXPECT_EQ(holdfast({"run", "-c", "exit 5", "a"}).code, 5);
}

TEST_F(running, what_follows_the_command_is_the_commands) {
    EXPECT_EQ(holdfast({"run", "a", "echo", "-n", "--ttl", "--", "x"}).out, "--ttl -- x");
    EXPECT_EQ(holdfast({"run", "a", "--", "echo", "--", "x"}).out, "-- x\n");
    EXPECT_EQ(holdfast({"run", "a", "-w", "5", "-E9", "echo", "x"}).out, "x\n");
    EXPECT_EQ(holdfast({"run", "--", "-a", "echo", "x"}).out, "x\n");
    EXPECT_EQ(holdfast({"run", "ls", "echo", "ls"}).out, "ls\n");
}

TEST_F(running, several_flags_may_share_a_dash) {
    EXPECT_EQ(holdfast({"run", "-sw5", "a", "echo", "x"}).out, "x\n");
    EXPECT_EQ(holdfast({"run", "-nx", "a", "echo", "x"}).out, "x\n");
}

TEST_F(running, a_lock_that_is_held_is_1_at_once_or_what_was_asked_for) {
    auto holder = start_holding({"a"}, "read x");
    const auto asked = boot_clock::now();
    const auto how = holdfast({"run", "-n", "a", "--", "true"});
    EXPECT_LT(boot_clock::now() - asked, 20s);
    EXPECT_EQ(how.code, 1);
    EXPECT_EQ(how.err, "");
    EXPECT_EQ(holdfast({"run", "-n", "-E", "9", "a", "--", "true"}).code, 9);
    EXPECT_EQ(holdfast({"run", "-w", "0", "a", "--", "true"}).code, 1);
    holder.close_input();
    EXPECT_EQ(holder.exit_code(), 1);
}

TEST_F(running, waits_as_long_as_it_was_told_to) {
    auto holder = start_holding({"a"}, "read x");
    const auto asked = boot_clock::now();
    EXPECT_EQ(holdfast({"run", "-w", "1", "a", "--", "true"}).code, 1);
    EXPECT_GE(boot_clock::now() - asked, 1s);
    EXPECT_LT(boot_clock::now() - asked, 20s);
    const auto again = boot_clock::now();
    EXPECT_EQ(holdfast({"run", "-w", "1500ms", "-E", "0", "a", "--", "true"}).code, 0);
    EXPECT_GE(boot_clock::now() - again, 1500ms);
}

TEST_F(running, a_waiter_runs_when_the_holder_has_ended) {
    auto holder = start_holding({"a"}, "read x; echo first >> " + path("log"));
    auto waiter = start({"run", "-w", "20", "a", "-c", "echo second >> " + path("log")});
    until_waiting("a", 1);
    holder.write("\n");
    EXPECT_EQ(waiter.exit_code(), 0);
    EXPECT_EQ(read("log"), "first\nsecond\n");
}

TEST_F(running, the_lock_is_free_as_soon_as_it_has_returned) {
    for (int i = 0; i < 20; ++i) {
        ASSERT_EQ(holdfast({"run", "-n", "a", "--", "true"}).code, 0) << "round " << i;
    }
}

TEST_F(running, readers_share_and_a_writer_does_not) {
    auto reader = start_holding({"-s", "a"}, "read x");
    EXPECT_EQ(holdfast({"run", "-n", "-s", "a", "--", "true"}).code, 0);
    EXPECT_EQ(holdfast({"run", "-n", "-x", "a", "--", "true"}).code, 1);
    EXPECT_EQ(holdfast({"run", "-n", "a", "--", "true"}).code, 1);
    reader.write("\n");
    EXPECT_EQ(reader.exit_code(), 0);

    auto writer = start_holding({"-x", "a"}, "read x");
    EXPECT_EQ(holdfast({"run", "-n", "-s", "a", "--", "true"}).code, 1);
    EXPECT_EQ(holdfast({"run", "-n", "-x", "a", "--", "true"}).code, 1);
}

TEST_F(running, there_are_as_many_permits_as_named) {
    auto first = start_holding({"-N", "2", "pool"}, "read x");
    auto second = start_holding({"-N", "2", "pool"}, "read x");
    EXPECT_EQ(holdfast({"run", "-n", "-N", "2", "pool", "--", "true"}).code, 1);
    first.write("\n");
    EXPECT_EQ(first.exit_code(), 0);
    EXPECT_EQ(holdfast({"run", "-n", "-N", "2", "pool", "--", "true"}).code, 0);
}

TEST_F(running, several_locks_are_held_as_one) {
    const auto how = holdfast({"run",
                               "a",
                               "--and",
                               "b",
                               "--and",
                               "c",
                               "-c",
                               holdfast_program() + " ls --names; echo $HOLDFAST_NAME"});
    EXPECT_EQ(how.code, 0) << how.err;
    EXPECT_EQ(how.out, "a\nb\nc\na\n");
    const auto holder = start_holding({"b"}, "exec sleep 60");
    EXPECT_EQ(holdfast({"run", "-n", "a", "--and", "b", "--", "true"}).code, 1);
    EXPECT_EQ(holdfast({"run", "-n", "a", "--and", "c", "--", "true"}).code, 0);
    const auto twice = holdfast({"run", "a", "--and", "a", "--", "true"});
    EXPECT_EQ(twice.code, 64);
    EXPECT_THAT(twice.err, HasSubstr("once"));
}

TEST_F(running, a_spinning_waiter_gets_its_turn) {
    EXPECT_EQ(holdfast({"run", "--spin", "a", "--", "true"}).code, 0);
    EXPECT_EQ(holdfast({"run", "--spin", "--fair", "a", "--", "true"}).code, 64);
}

TEST_F(running, what_is_required_is_given_or_refused) {
    EXPECT_EQ(
        holdfast({"run", "--require", "fence,restart,clock,fair,death", "a", "--", "true"}).code,
        0);
    const auto refused = holdfast({"run", "-N", "2", "--require", "fence", "a", "--", "true"});
    EXPECT_EQ(refused.code, 64) << refused.err;
    EXPECT_THAT(refused.err, HasSubstr("permits carry no fence"));
    const auto unknown = holdfast({"run", "--require", "fence,luck", "a", "--", "true"});
    EXPECT_EQ(unknown.code, 64);
    EXPECT_THAT(unknown.err, HasSubstr("luck"));
}

TEST_F(running, a_retry_policy_is_named) {
    EXPECT_EQ(holdfast({"run", "--retry", "times(3, 1s)", "a", "--", "true"}).code, 0);
    const auto unknown = holdfast({"run", "--retry", "sometimes", "a", "--", "true"});
    EXPECT_EQ(unknown.code, 64);
    EXPECT_THAT(unknown.err, HasSubstr("exponential(100ms, 5)"));
}

TEST_F(running, fair_is_first_come_first_served) {
    auto holder = start_holding({"a"}, "read x");
    std::vector<program> waiters;
    for (int i = 0; i < 3; ++i) {
        waiters.push_back(start(
            {"run", "--fair", "a", "-c", "echo " + std::to_string(i) + " >> " + path("log")}));
        until_waiting("a", static_cast<std::size_t>(i) + 1);
    }
    holder.write("\n");
    for (auto& waiter : waiters) {
        EXPECT_EQ(waiter.exit_code(), 0);
    }
    EXPECT_EQ(read("log"), "0\n1\n2\n");
}

TEST_F(running, the_url_option_wins_over_the_environment) {
    auto holder = start_holding({"a"}, "read x");
    const auto elsewhere = "sqlite:" + path("other.db");
    EXPECT_EQ(holdfast({"run", "-n", "a", "-u", elsewhere, "--", "true"}).code, 0);
    EXPECT_EQ(holdfast({"run", "-n", "a", "--", "true"},
                       {.environment = {"HOLDFAST_URL=" + elsewhere}, .input = ""})
                  .code,
              0);
}

TEST_F(running, a_run_inside_a_run_works) {
    const auto how = holdfast({"run",
                               "outer",
                               "--",
                               holdfast_program(),
                               "run",
                               "inner",
                               "-c",
                               "echo $HOLDFAST_NAME; exit 4"});
    EXPECT_EQ(how.out, "inner\n");
    EXPECT_EQ(how.code, 4);
}

TEST_F(running, a_pipe_closes_when_the_command_closes_it) {
    auto holder = start({"run", "a", "-c", "exec >&- 3>&-; read x"});
    EXPECT_EQ(holder.out.all(), ""); // although holdfast itself is still there
    EXPECT_TRUE(holder.tree.ends_within(20s));
    holder.write("\n");
    EXPECT_EQ(holder.exit_code(), 0);
}

TEST_F(running, a_password_is_not_in_the_process_list_nor_in_the_lock) {
    auto holder = start_holding({"a"}, "read x # redis://me:secret@host");
    for (const auto pid : {holder.pid(), guardian_of(holder)}) {
        const auto shown = call({"cat", "/proc/" + std::to_string(pid) + "/cmdline"}).out;
        EXPECT_THAT(shown, HasSubstr("me:******@host"));
    }
    EXPECT_THAT(holdfast({"ls"}).out, HasSubstr("me:***@host"));
}

TEST_F(running, works_without_standard_descriptors) {
    const auto how = call({"sh", "-c", holdfast_program() + " run a -c 'exit 3' <&- >&- 2>&-"});
    EXPECT_EQ(how.code, 3);
}

TEST_F(running, an_engine_that_cannot_work_is_69_with_one_sentence) {
    const auto how =
        call({"sh", "-c", "ulimit -f 0; exec " + holdfast_program() + " run a -- true"});
    EXPECT_EQ(how.code, 69);
    EXPECT_THAT(how.err, StartsWith("holdfast: "));
    EXPECT_EQ(std::count(how.err.begin(), how.err.end(), '\n'), 1) << how.err;
}

} // namespace
} // namespace holdfast::cli_tests
