// ls, show, release, doctor: for people, and with --json for programs.

#include "cli/manual.hpp"
#include "parsed.hpp"
#include "workshop.hpp"

#include <gmock/gmock.h>

#include <string>

namespace holdfast::cli_tests {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

class looking : public workshop {};

TEST_F(looking, an_empty_list_is_empty) {
    const auto how = holdfast({"ls"});
    EXPECT_EQ(how.code, 0);
    EXPECT_EQ(how.out, "");
    EXPECT_EQ(how.err, "");
    EXPECT_TRUE(parsed(holdfast({"ls", "--json"}).out).at("locks").as_array().empty());
}

TEST_F(looking, ls_tells_who_holds_what) {
    auto first = start_holding({"orders/1"}, "read x");
    auto second = start_holding({"-s", "stock"}, "read x");
    const auto how = holdfast({"ls"});
    EXPECT_EQ(how.code, 0);
    EXPECT_THAT(how.out, StartsWith("NAME"));
    EXPECT_THAT(how.out, HasSubstr("orders/1  exclusive"));
    EXPECT_THAT(how.out, HasSubstr("stock     shared"));
    EXPECT_THAT(how.out, HasSubstr("pid " + std::to_string(guardian_of(first)) + " sh -c "));

    const auto one = holdfast({"ls", "orders/*"});
    EXPECT_THAT(one.out, HasSubstr("orders/1"));
    EXPECT_THAT(one.out, testing::Not(HasSubstr("stock")));
}

TEST_F(looking, ls_in_json) {
    auto holder = start_holding({"--ttl", "20s", "orders/1"}, "read x");
    auto waiter = start({"run", "-s", "orders/1", "--", "true"});
    until_waiting("orders/1", 1);
    const auto all = parsed(holdfast({"ls", "--json"}).out);
    const auto& lock = all.at("locks").as_array().at(0);
    EXPECT_EQ(lock.at("name").as_string(), "orders/1");
    const auto& held = lock.at("holders").as_array().at(0);
    EXPECT_EQ(held.at("mode").as_string(), "exclusive");
    EXPECT_EQ(held.at("pid").as_int64(), guardian_of(holder));
    EXPECT_GT(held.at("fence").as_int64(), 0);
    EXPECT_GE(held.at("held_for_ms").as_int64(), 0);
    EXPECT_LE(held.at("remaining_ms").as_int64(), 20'000);
    EXPECT_THAT(std::string{held.at("purpose").as_string().c_str()}, StartsWith("sh -c "));
    const auto& waits = lock.at("waiters").as_array().at(0);
    EXPECT_EQ(waits.at("mode").as_string(), "shared");
    EXPECT_GE(waits.at("waited_for_ms").as_int64(), 0);
}

TEST_F(looking, ls_tells_the_names_alone) {
    auto holder = start_holding({"orders/1"}, "read x");
    auto reader = start_holding({"-s", "a b"}, "read x");
    auto another = start_holding({"-s", "a b"}, "read x");
    EXPECT_EQ(holdfast({"ls", "--names"}).out, "a b\norders/1\n");
    EXPECT_EQ(holdfast({"ls", "--names", "o*"}).out, "orders/1\n");
}

TEST_F(looking, a_strange_command_line_stays_on_its_line) {
    auto holder = start_holding({"a"}, "read x # \x1b[31m\n \"quoted\" \xff");
    EXPECT_THAT(holdfast({"ls"}).out, testing::Not(HasSubstr("\x1b")));
    const auto all = parsed(holdfast({"ls", "--json"}).out);
    EXPECT_EQ(all.at("locks").as_array().size(), 1U);
}

TEST_F(looking, show_tells_holders_and_waiters) {
    auto holder = start_holding({"a"}, "read x");
    auto waiter = start({"run", "a", "--", "true"});
    until_waiting("a", 1);
    const auto how = holdfast({"show", "a"});
    EXPECT_EQ(how.code, 0);
    EXPECT_THAT(how.out, StartsWith("held by "));
    EXPECT_THAT(how.out, HasSubstr("fence"));
    EXPECT_THAT(how.out, HasSubstr("waiting\n  1."));
}

TEST_F(looking, show_ends_with_1_if_nobody_holds_it) {
    const auto how = holdfast({"show", "a"});
    EXPECT_EQ(how.code, 1);
    EXPECT_EQ(how.out, "nobody holds 'a'\n");
    const auto shown = holdfast({"show", "a", "--json"});
    EXPECT_EQ(shown.code, 1);
    EXPECT_TRUE(parsed(shown.out).at("holders").as_array().empty());
}

TEST_F(looking, show_means_the_name_and_not_a_pattern) {
    auto other = start_holding({"ab"}, "read x");
    EXPECT_EQ(holdfast({"show", "a*"}).code, 1);
    auto holder = start_holding({"a*[b]?\\"}, "read x");
    EXPECT_EQ(holdfast({"show", "a*[b]?\\"}).code, 0);
}

TEST_F(looking, release_wants_force) {
    auto holder = start_holding({"a"}, "read x");
    const auto how = holdfast({"release", "a"});
    EXPECT_EQ(how.code, 64);
    EXPECT_THAT(how.err, HasSubstr("--force"));
    EXPECT_EQ(holdfast({"show", "a"}).code, 0);
}

TEST_F(looking, release_says_what_it_took_from_whom) {
    auto holder = start_holding({"--on-lost", "ignore", "a"}, "read x");
    const auto pid = std::to_string(guardian_of(holder));
    const auto how = holdfast({"release", "a", "--force"});
    EXPECT_EQ(how.code, 0);
    EXPECT_THAT(how.out, StartsWith("took 'a' from "));
    EXPECT_THAT(how.out, HasSubstr("pid " + pid));
}

TEST_F(looking, release_in_json) {
    auto holder = start_holding({"--on-lost", "ignore", "a"}, "read x");
    const auto how = parsed(holdfast({"release", "a", "--force", "--json"}).out);
    EXPECT_EQ(how.at("released").as_int64(), 1);
    EXPECT_EQ(how.at("holders").as_array().at(0).at("pid").as_int64(), guardian_of(holder));
}

TEST_F(looking, release_ends_with_1_if_nobody_holds_it) {
    const auto how = holdfast({"release", "a", "--force"});
    EXPECT_EQ(how.code, 1);
    EXPECT_EQ(how.out, "nobody holds 'a'\n");
    EXPECT_EQ(parsed(holdfast({"release", "a", "--force", "--json"}).out).at("released").as_int64(),
              0);
}

TEST_F(looking, doctor_tells_what_the_engine_guarantees) {
    const auto how = holdfast({"doctor"});
    EXPECT_THAT(how.out, StartsWith("sqlite"));
    EXPECT_THAT(how.out, HasSubstr("acquired in"));
    EXPECT_THAT(how.out, HasSubstr("is noticed at once"));
    EXPECT_THAT(how.out, HasSubstr("rests on"));
    EXPECT_TRUE(how.code == 0 || how.code == 1) << how.err;
}

TEST_F(looking, doctor_in_json) {
    const auto url = "sqlite:" + path("other.db");
    const auto how = parsed(holdfast({"doctor", url, "--json"}).out);
    EXPECT_EQ(how.at("engine").as_string(), "sqlite");
    EXPECT_EQ(how.at("url").as_string(), url);
    EXPECT_FALSE(how.at("probe").at("contended").as_bool());
    EXPECT_EQ(how.at("guarantees").at("reach").as_string(), "machine");
    EXPECT_TRUE(how.at("guarantees").at("notices_death").as_bool());
    for (const auto& found : how.at("findings").as_array()) {
        EXPECT_NE(found.at("what").as_string(), "");
        EXPECT_TRUE(found.at("grade").as_string() == "good" || found.at("fix").as_string() != "");
    }
    EXPECT_EQ(how.at("findings").as_array().at(0).at("grade"), how.at("grade")); // worst first
}

TEST_F(looking, doctor_leaves_no_lock_behind) {
    ASSERT_LE(holdfast({"doctor"}).code, 1);
    EXPECT_EQ(holdfast({"ls"}).out, "");
}

TEST_F(looking, an_error_is_json_too_where_json_was_asked_for) {
    const auto how = holdfast({"ls", "--json", "-u", "nonsense:x"});
    EXPECT_EQ(how.code, 64);
    EXPECT_THAT(how.err, StartsWith("holdfast: "));
    const auto said = parsed(how.out);
    EXPECT_EQ(said.at("exit_code").as_int64(), 64);
    EXPECT_NE(said.at("error").as_string(), "");
}

TEST_F(looking, output_that_cannot_be_written_is_an_error) {
    auto holder = start_holding({"a"}, "read x");
    const auto how = call({"sh", "-c", holdfast_program() + " ls > /dev/full"});
    EXPECT_EQ(how.code, 70);
    EXPECT_THAT(how.err, HasSubstr("cannot write the output"));
}

TEST_F(looking, everything_explains_itself) {
    EXPECT_THAT(holdfast({"--version"}).out, MatchesRegex("holdfast [0-9.]+\n"));
    EXPECT_THAT(holdfast({"--help"}).out, HasSubstr("Example"));
    for (const auto& page : cli::manual::verbs()) {
        const std::string verb{page.name};
        EXPECT_EQ(holdfast({"help", verb}).out, holdfast({verb, "--help"}).out);
        const auto how = holdfast({verb, "--help"});
        EXPECT_EQ(how.code, 0);
        EXPECT_THAT(how.out, HasSubstr("Usage: holdfast " + verb));
        EXPECT_THAT(how.out, HasSubstr("Example"));
    }
    EXPECT_THAT(holdfast({"run", "a", "--help"}).out, HasSubstr("Usage"));
    EXPECT_THAT(holdfast({"run", "a", "printf", "%s", "--help"}).out, "--help");
}

} // namespace
} // namespace holdfast::cli_tests
