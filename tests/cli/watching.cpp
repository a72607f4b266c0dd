// `holdfast watch`: what two looks tell about what happened between them, and the real program.

#include "cli/happenings.hpp"
#include "parsed.hpp"
#include "tmux.hpp"
#include "workshop.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <string>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;
using kind = happening::kind;
using testing::ElementsAre;
using testing::IsEmpty;

const party ann{.host = "db1", .pid = 1, .purpose = "ann"};
const party ben{.host = "db2", .pid = 2, .purpose = "ben"};

holder_info holds(const party& who, std::int64_t number, duration held_for) {
    return {.who = who,
            .mode = number == 0 ? mode::permit : mode::exclusive,
            .fence = fence{number},
            .held_for = held_for,
            .remaining = 30s,
            .remark = {}};
}

waiter_info waits(const party& who, duration waited_for) {
    return {.who = who, .mode = mode::exclusive, .waited_for = waited_for};
}

/// A look at this moment, counted from some beginning, that took no time.
look look_at(duration moment, std::vector<lock_info> locks) {
    look seen;
    seen.asked = seen.answered = instant{} + 1h + moment;
    seen.locks = std::move(locks);
    return seen;
}

lock_info orders(std::vector<holder_info> holders, std::vector<waiter_info> waiters = {}) {
    return {.name = "orders", .holders = std::move(holders), .waiters = std::move(waiters)};
}

/// "granted ann", "left ben": enough to tell them apart.
std::vector<std::string> told(const std::vector<happening>& all) {
    std::vector<std::string> words;
    for (const auto& one : all) {
        words.push_back(std::string{name_of(one.what)} + " " + one.who.purpose);
    }
    return words;
}

std::vector<std::string> between(const look& before, const look& after) {
    return told(happenings_between(before, after));
}

TEST(happenings, nothing_happens_while_a_holder_only_grows_older) {
    EXPECT_THAT(between(look_at(0s, {orders({holds(ann, 7, 10s)}, {waits(ben, 1s)})}),
                        look_at(1s, {orders({holds(ann, 7, 11s)}, {waits(ben, 2s)})})),
                IsEmpty());
    EXPECT_THAT(between(look_at(0s, {}), look_at(1s, {})), IsEmpty());
}

TEST(happenings, a_free_lock_is_granted_and_released) {
    const auto free = look_at(0s, {});
    const auto held = look_at(1s, {orders({holds(ann, 7, 500ms)})});
    EXPECT_THAT(between(free, held), ElementsAre("granted ann"));
    EXPECT_THAT(between(held, look_at(2s, {})), ElementsAre("released ann"));
}

TEST(happenings, a_hand_off_is_a_release_and_a_grant_and_not_a_waiter_that_left) {
    const auto before = look_at(0s, {orders({holds(ann, 7, 10s)}, {waits(ben, 3s)})});
    const auto after = look_at(1s, {orders({holds(ben, 8, 200ms)})});
    const auto all = happenings_between(before, after);
    EXPECT_THAT(told(all), ElementsAre("released ann", "granted ben"));
    EXPECT_EQ(all[1].fence, fence{8});
    EXPECT_EQ(all[0].time, 10s);
}

TEST(happenings, a_waiter_that_gives_up_has_left) {
    const auto before = look_at(0s, {orders({holds(ann, 7, 10s)}, {waits(ben, 3s)})});
    const auto after = look_at(1s, {orders({holds(ann, 7, 11s)})});
    EXPECT_THAT(between(before, after), ElementsAre("left ben"));
    EXPECT_THAT(between(look_at(0s, after.locks),
                        look_at(1s, {orders({holds(ann, 7, 12s)}, {waits(ben, 1ms)})})),
                ElementsAre("waits ben"));
}

TEST(happenings, another_fence_means_that_it_was_released_in_between) {
    const auto before = look_at(0s, {orders({holds(ann, 7, 10s)})});
    const auto after = look_at(1s, {orders({holds(ann, 9, 10ms)})});
    EXPECT_THAT(between(before, after), ElementsAre("released ann", "granted ann"));
}

TEST(happenings, without_fences_a_hold_that_is_too_young_is_another_one) {
    const auto before = look_at(0s, {orders({holds(ann, 0, 10s)})});
    EXPECT_THAT(between(before, look_at(1s, {orders({holds(ann, 0, 900ms)})})),
                ElementsAre("released ann", "granted ann"));
    EXPECT_THAT(between(before, look_at(1s, {orders({holds(ann, 0, 10'990ms)})})), IsEmpty());
}

TEST(happenings, an_age_that_the_engine_does_not_know_says_nothing) {
    EXPECT_THAT(between(look_at(0s, {orders({holds(ann, 0, 0s)})}),
                        look_at(1s, {orders({holds(ann, 0, 0s)})})),
                IsEmpty());
}

TEST(happenings, a_slow_answer_is_given_the_benefit_of_the_doubt) {
    auto before = look_at(0s, {orders({holds(ann, 0, 10s)})});
    before.answered += 900ms; // it may have been true at any moment until then
    EXPECT_THAT(between(before, look_at(1s, {orders({holds(ann, 0, 10'100ms)})})), IsEmpty());
}

TEST(happenings, two_permits_of_one_process_are_two) {
    const auto one = look_at(0s, {orders({holds(ann, 0, 10s)})});
    const auto two = look_at(1s, {orders({holds(ann, 0, 11s), holds(ann, 0, 100ms)})});
    EXPECT_THAT(between(one, two), ElementsAre("granted ann"));
    EXPECT_THAT(between(two, look_at(2s, {orders({holds(ann, 0, 12s)})})),
                ElementsAre("released ann"));
}

TEST(happenings, who_had_to_renew_and_did_not_has_lost_it) {
    auto before = look_at(0s, {orders({holds(ann, 7, 30s)})});
    before.locks[0].holders[0].remaining = 0s;
    EXPECT_THAT(between(before, look_at(1s, {orders({holds(ben, 8, 100ms)})})),
                ElementsAre("lost ann", "granted ben"));
}

TEST(happenings, a_new_remark_is_told) {
    const auto before = look_at(0s, {orders({holds(ann, 7, 10s)})});
    auto after = look_at(1s, {orders({holds(ann, 7, 11s)})});
    after.locks[0].holders[0].remark = "expired";
    const auto all = happenings_between(before, after);
    EXPECT_THAT(told(all), ElementsAre("remark ann"));
    EXPECT_EQ(all[0].remark, "expired");
    EXPECT_THAT(between(after, look_at(2s, {orders({holds(ann, 7, 12s)})})), IsEmpty());
}

TEST(happenings, names_are_told_apart) {
    auto first = orders({holds(ann, 7, 10s)});
    auto second = first;
    second.name = "parcels";
    const auto before = look_at(0s, {first});
    const auto after = look_at(1s, {second});
    const auto all = happenings_between(before, after);
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].name, "orders");
    EXPECT_EQ(all[0].what, kind::released);
    EXPECT_EQ(all[1].name, "parcels");
    EXPECT_EQ(all[1].what, kind::granted);
}

TEST(happenings, the_first_look_tells_the_state) {
    EXPECT_THAT(told(state_of(look_at(0s, {orders({holds(ann, 7, 10s)}, {waits(ben, 3s)})}))),
                ElementsAre("held ann", "waits ben"));
}

} // namespace
} // namespace holdfast::cli

namespace holdfast::cli_tests {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class watching : public workshop {
protected:
    [[nodiscard]] static boost::json::value next_event(program& watcher) {
        return parsed(watcher.out.line().value_or("the end"));
    }
    static void expect_event(program& watcher, std::string_view what, std::int64_t pid) {
        const auto event = next_event(watcher);
        EXPECT_EQ(event.at("event").as_string(), what);
        EXPECT_EQ(event.at("pid").as_int64(), pid);
        EXPECT_EQ(event.at("name").as_string(), "a");
    }
};

TEST_F(watching, follows_a_lock_from_hand_to_hand) {
    auto holder = start_holding({"a"}, "read x");
    auto watcher = start({"watch", "a", "--json", "--every", "20ms"});
    expect_event(watcher, "held", guardian_of(holder));

    auto waiter = start({"run", "a", "--", "sh", "-c", "echo ready; read x"});
    expect_event(watcher, "waits", guardian_of(waiter));
    const auto first = guardian_of(holder);
    holder.write("\n");
    expect_event(watcher, "released", first);
    expect_event(watcher, "granted", guardian_of(waiter));
}

TEST_F(watching, tells_of_waiters_that_give_up) {
    auto holder = start_holding({"a"}, "read x");
    auto waiter = start({"run", "a", "--", "true"});
    until_waiting("a", 1);
    auto watcher = start({"watch", "a", "--json", "--every", "20ms"});
    expect_event(watcher, "held", guardian_of(holder));
    const auto waiting = guardian_of(waiter);
    expect_event(watcher, "waits", waiting);
    waiter.signal(SIGTERM);
    expect_event(watcher, "left", waiting);
}

TEST_F(watching, ends_by_itself_after_its_time) {
    const auto how = holdfast({"watch", "a", "--for", "50ms"});
    EXPECT_EQ(how.code, 0);
    EXPECT_EQ(how.out, "");
    EXPECT_EQ(how.err, "");
}

TEST_F(watching, ends_cleanly_with_a_signal) {
    auto holder = start_holding({"a"}, "read x");
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        auto watcher = start({"watch", "*"});
        EXPECT_THAT(watcher.out.line().value_or(""), HasSubstr("  a  held by "));
        watcher.signal(signal);
        const auto how = watcher.end();
        EXPECT_EQ(how.code, 0);
        EXPECT_EQ(how.signal, 0);
        EXPECT_EQ(how.err, "");
    }
}

TEST_F(watching, ends_when_its_reader_is_gone) {
    auto holder = start_holding({"a"}, "read x");
    const auto how =
        call({"bash", "-c", holdfast_program() + " watch a | head -n 1; echo ${PIPESTATUS[0]}"});
    EXPECT_THAT(how.out, testing::EndsWith("\n0\n"));
    EXPECT_EQ(how.err, "");
}

TEST_F(watching, ends_with_a_signal_while_nobody_reads_what_it_writes) {
    auto holder = start_holding({"a"}, "read x");
    // The pipe is full before it begins.
    program watcher{
        {"sh", "-c", "head -c 65536 /dev/zero; exec \"$0\" watch a", holdfast_program()}};
    const std::filesystem::path threads = "/proc/" + std::to_string(watcher.pid()) + "/task";
    EXPECT_TRUE(comes_true(patience, [&] { // once it looks, it also listens to signals
        return std::distance(std::filesystem::directory_iterator{threads}, {}) > 1;
    }));
    EXPECT_TRUE(watcher.runs_for(100ms));
    watcher.signal(SIGTERM);
    EXPECT_EQ(watcher.exit_code(), 0);
}

TEST_F(watching, looks_only_at_names_like_the_pattern) {
    auto other = start_holding({"b/1"}, "read x");
    auto holder = start_holding({"a/1"}, "read x");
    const auto how = holdfast({"watch", "a/*", "--for", "200ms"});
    EXPECT_THAT(how.out, HasSubstr("  a/1  held by "));
    EXPECT_THAT(how.out, testing::Not(HasSubstr("b/1")));
}

TEST_F(watching, output_that_cannot_be_written_is_an_error) {
    auto holder = start_holding({"a"}, "read x");
    const auto how = call({"sh", "-c", holdfast_program() + " watch a > /dev/full"});
    EXPECT_EQ(how.code, 70);
    EXPECT_THAT(how.err, HasSubstr("cannot write the output"));
}

TEST_F(watching, on_a_terminal_it_has_colours_and_ends_with_control_c) {
    if (tmux::is_missing()) {
        GTEST_SKIP() << "there is no tmux here";
    }
    const tmux terminal{
        folder(), "sh -c 'trap : INT; " + holdfast_program() + " watch a; echo code-$?; read x'"};
    EXPECT_TRUE(terminal.shows("nobody holds 'a' now"));
    auto holder = start_holding({"a"}, "read x");
    EXPECT_TRUE(terminal.shows("granted to"));
    EXPECT_THAT(terminal.screen({"-e"}), HasSubstr("\x1b[32m"));
    holder.write("\n");
    EXPECT_TRUE(terminal.shows("released by"));
    terminal.press({"C-c"});
    EXPECT_TRUE(terminal.shows("code-0"));
}

} // namespace
} // namespace holdfast::cli_tests
