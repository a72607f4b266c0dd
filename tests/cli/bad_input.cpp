// Bad input: one sentence, the right code, nothing left behind.

#include "workshop.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <unistd.h>

namespace holdfast::cli_tests {
namespace {

using testing::StartsWith;

struct mistake {
    const char* name;
    std::vector<std::string> arguments;
};

std::ostream& operator<<(std::ostream& to, const mistake& made) { return to << made.name; }

class bad_input : public workshop, public testing::WithParamInterface<mistake> {};

TEST_P(bad_input, is_64_with_one_sentence_and_leaves_nothing_behind) {
    const auto how = holdfast(GetParam().arguments);
    EXPECT_EQ(how.code, 64);
    EXPECT_EQ(how.out, "");
    EXPECT_THAT(how.err, StartsWith("holdfast: "));
    EXPECT_EQ(std::count(how.err.begin(), how.err.end(), '\n'), 1) << how.err;
    EXPECT_LT(how.err.size(), 700U);
    EXPECT_TRUE(std::filesystem::is_empty(folder()));
}

const auto many = std::string(100'000, 'n');

INSTANTIATE_TEST_SUITE_P(
    all,
    bad_input,
    testing::Values(
        mistake{"nothing", {}},
        mistake{"unknown_verb", {"frobnicate"}},
        mistake{"long_unknown_verb", {many}},
        mistake{"unknown_option", {"run", "-q", "a", "true"}},
        mistake{"long_unknown_option", {"run", "--" + many, "a", "true"}},
        mistake{"no_name", {"run"}},
        mistake{"no_command", {"run", "a"}},
        mistake{"no_command_after_dashes", {"run", "a", "--"}},
        mistake{"two_commands", {"run", "a", "-c", "true", "--", "true"}},
        mistake{"empty_name", {"run", "", "--", "true"}},
        mistake{"long_name", {"run", many, "--", "true"}},
        mistake{"newline_in_name", {"run", "a\nb", "--", "true"}},
        mistake{"escape_in_name", {"run", "a\x1b[31m", "--", "true"}},
        mistake{"name_that_is_not_utf8", {"run", "a\xff", "--", "true"}},
        mistake{"quorum_of_nothing", {"run", "-u", "quorum:", "a", "--", "true"}},
        mistake{"quorum_of_two", {"run", "-u", "quorum:sqlite:a,sqlite:b", "a", "--", "true"}},
        mistake{"quorum_of_four", {"ls", "-u", "quorum:sqlite:a,sqlite:b,sqlite:c,sqlite:d"}},
        mistake{"quorum_of_two_kinds", {"ls", "-u", "quorum:sqlite:a,sqlite:b,memory:"}},
        mistake{"quorum_of_quorums", {"ls", "-u", "quorum:quorum:sqlite:a,sqlite:b"}},
        mistake{"ttl_0", {"run", "--ttl", "0", "a", "--", "true"}},
        mistake{"ttl_negative", {"run", "--ttl=-5", "a", "--", "true"}},
        mistake{"ttl_10_years", {"run", "--ttl", "87600h", "a", "--", "true"}},
        mistake{"ttl_beyond_all_numbers", {"run", "--ttl", "1" + many, "a", "--", "true"}},
        mistake{"ttl_of_words", {"run", "--ttl", "soon", "a", "--", "true"}},
        mistake{"ttl_not_a_number", {"run", "--ttl", "nan", "a", "--", "true"}},
        mistake{"ttl_with_unknown_unit", {"run", "--ttl", "5 fortnights", "a", "true"}},
        mistake{"wait_negative", {"run", "-w", "-1", "a", "--", "true"}},
        mistake{"wait_and_do_not", {"run", "-n", "-w", "1", "a", "--", "true"}},
        mistake{"shared_and_exclusive", {"run", "-s", "-x", "a", "--", "true"}},
        mistake{"shared_permits", {"run", "-s", "-N", "2", "a", "--", "true"}},
        mistake{"no_permits", {"run", "-N", "0", "a", "--", "true"}},
        mistake{"exit_code_256", {"run", "-E", "256", "a", "--", "true"}},
        mistake{"unknown_act", {"run", "--on-lost", "panic", "a", "--", "true"}},
        mistake{"unknown_scheme", {"run", "-u", "gopher://x", "a", "--", "true"}},
        mistake{"locks_of_one_process", {"run", "-u", "memory:", "a", "--", "true"}},
        mistake{"no_scheme", {"run", "-u", "x", "a", "--", "true"}},
        mistake{"ls_unknown_scheme", {"ls", "-u", "gopher://x"}},
        mistake{"show_without_name", {"show"}},
        mistake{"watch_without_name", {"watch"}},
        mistake{"watch_empty_name", {"watch", ""}},
        mistake{"watch_too_often", {"watch", "a", "--every", "0"}},
        mistake{"watch_never", {"watch", "a", "--every", "soon"}},
        mistake{"watch_negative_time", {"watch", "a", "--for=-1"}},
        mistake{"watch_unknown_scheme", {"watch", "a", "-u", "gopher://x"}},
        mistake{"top_two_patterns", {"top", "a", "b"}},
        mistake{"top_too_often", {"top", "--every", "1ms"}},
        mistake{"top_unknown_order", {"top", "--sort", "beauty"}},
        mistake{"top_unknown_scheme", {"top", "-u", "gopher://x"}},
        mistake{"unknown_shell", {"completion", "cmd.exe"}},
        mistake{"no_shell", {"completion"}},
        mistake{"man_of_what", {"man", "run"}},
        mistake{"help_of_what", {"help", "frobnicate"}},
        mistake{"show_empty_name", {"show", ""}},
        mistake{"release_long_name", {"release", "--force", many}},
        mistake{"doctor_unknown_scheme", {"doctor", "gopher://x"}},
        mistake{"doctor_two_urls", {"doctor", "sqlite:a", "-u", "sqlite:b"}},
        mistake{"torture_unknown_scheme", {"torture", "gopher://x"}},
        mistake{"torture_in_one_process", {"torture", "memory:"}},
        mistake{"torture_too_short", {"torture", "--seconds", "2"}},
        mistake{"torture_for_ever", {"torture", "--seconds", "999999999"}},
        mistake{"torture_without_workers", {"torture", "--workers", "0"}},
        mistake{"torture_seed_of_words", {"torture", "--seed", "oak"}},
        mistake{"torture_ttl_0", {"torture", "--ttl", "0"}},
        mistake{"torture_two_urls", {"torture", "sqlite:a", "-u", "sqlite:b"}},
        mistake{"bench_unknown_scheme", {"bench", "gopher://x"}},
        mistake{"bench_without_time", {"bench", "--seconds", "0"}},
        mistake{"bench_without_threads", {"bench", "--threads", "0"}},
        mistake{"bench_many_processes", {"bench", "--processes", "100000"}},
        mistake{"schema_of_a_file", {"schema"}},
        mistake{"schema_of_a_quorum", {"schema", "quorum:mysql://a/d,mysql://b/d,mysql://c/d"}},
        mistake{"schema_of_no_scheme", {"schema", "shop"}},
        mistake{"schema_two_urls", {"schema", "mysql://a/d", "-u", "mysql://b/d"}},
        mistake{"schema_without_database", {"schema", "postgres://a"}}),
    [](const auto& made) { return std::string{made.param.name}; });

class bad_place : public workshop {
protected:
    static void expect_one_sentence(const outcome& how) {
        EXPECT_EQ(how.out, "");
        EXPECT_THAT(how.err, StartsWith("holdfast: "));
        EXPECT_EQ(std::count(how.err.begin(), how.err.end(), '\n'), 1) << how.err;
    }
};

TEST_F(bad_place, a_folder_we_may_not_write_is_refused) {
    std::filesystem::create_directory(path("closed"));
    std::filesystem::permissions(path("closed"), std::filesystem::perms{0555});
    std::filesystem::permissions(folder(), std::filesystem::perms{0755});
    std::vector<std::string> words{holdfast_program(),
                                   "run",
                                   "a",
                                   "-u",
                                   "sqlite:" + path("closed") + "/locks.db",
                                   "--",
                                   "true"};
    if (::geteuid() == 0) { // rights are nothing to root
        words.insert(words.begin(), {"setpriv", "--reuid=65534", "--clear-groups", "--"});
        if (call({"setpriv",
                  "--reuid=65534",
                  "--clear-groups",
                  "--",
                  holdfast_program(),
                  "--version"})
                .code != 0) {
            GTEST_SKIP() << "nobody may not run " << holdfast_program();
        }
    }
    const auto how = call(words);
    EXPECT_EQ(how.code, 77);
    expect_one_sentence(how);
    EXPECT_TRUE(std::filesystem::is_empty(path("closed")));
}

TEST_F(bad_place, a_file_that_is_no_lock_file_is_not_harmed) {
    write("poem", std::string(5000, 'p'));
    const auto how =
        holdfast({"run", "a", "-u", "sqlite:" + path("poem") + "/locks.db", "--", "true"});
    EXPECT_NE(how.code, 0);
    expect_one_sentence(how);
    EXPECT_EQ(read("poem"), std::string(5000, 'p'));
}

TEST_F(bad_place, a_folder_is_no_lock_file) {
    const auto how = holdfast({"run", "a", "-u", "sqlite:" + folder().string(), "--", "true"});
    EXPECT_NE(how.code, 0);
    expect_one_sentence(how);
}

} // namespace
} // namespace holdfast::cli_tests
