// The checks of `holdfast torture`, on histories written by hand: each must stay silent on a sound
// one, and speak up on one that is not.

#include "cli/torture/checks.hpp"
#include "cli/torture/schedule.hpp"
#include "cli/torture/vault.hpp"

#include <gmock/gmock.h>

#include <vector>

namespace holdfast::cli::ordeal {
namespace {

using namespace std::chrono_literals;

/// A hold [from, to), asked for right before; its deadline is far away.
attempt hold(tick from, tick to, std::int64_t fence = 0) {
    attempt one;
    one.asked = from - 1;
    one.acquired = from;
    one.deadline = to + 1000;
    one.ended = to;
    one.fence = fence;
    one.outcome = outcome::released;
    return one;
}

attempt as(sharing_mode mode, attempt one) {
    one.mode = mode;
    return one;
}

attempt of_process(std::int64_t pid, attempt one) {
    one.pid = pid;
    return one;
}

attempt wait(tick from, tick to) {
    attempt one;
    one.asked = from;
    one.ended = to;
    one.outcome = outcome::contended;
    return one;
}

// ------------------------------------------------------------------------------------- overlaps

std::int64_t overlaps(const attempts& all, std::size_t permits = 1) {
    return check_overlaps(all, permits).count;
}

TEST(torture_overlap, one_after_the_other_is_sound) {
    EXPECT_EQ(overlaps({}), 0);
    EXPECT_EQ(overlaps({hold(10, 20), hold(20, 30), hold(30, 40)}), 0);
    EXPECT_EQ(overlaps({hold(30, 40), hold(10, 20), hold(20, 30)}), 0) << "in any order";
}

TEST(torture_overlap, two_at_once_are_found_with_their_names_and_length) {
    const auto report = check_overlaps(attempts{hold(10, 25, 1), hold(20, 30, 2)}, 1);
    EXPECT_EQ(report.count, 1);
    EXPECT_EQ(report.longest, 5);
    ASSERT_TRUE(report.first);
    EXPECT_EQ(report.first->first.fence, 1);
    EXPECT_EQ(report.first->second.fence, 2);
}

TEST(torture_overlap, belief_ends_with_the_deadline_the_loss_or_the_death) {
    auto paused = hold(10, 100); // called release at 100, but knew since 20 that it might be over
    paused.deadline = 20;
    EXPECT_EQ(overlaps({paused, hold(20, 30)}), 0);
    EXPECT_EQ(overlaps({paused, hold(19, 30)}), 1);

    auto killed = hold(10, 0);
    killed.ended = 0;
    killed.deadline = 1000;
    killed.died = 50;
    EXPECT_EQ(overlaps({killed, hold(50, 60)}), 0);
    EXPECT_EQ(overlaps({killed, hold(49, 60)}), 1);
}

TEST(torture_overlap, a_lease_that_had_ended_when_it_came_is_no_belief) {
    auto late = hold(30, 40);
    late.deadline = 25;
    EXPECT_EQ(overlaps({late, hold(31, 35)}), 0);
}

TEST(torture_overlap, a_long_hold_is_not_hidden_by_a_short_one) {
    EXPECT_EQ(overlaps({hold(10, 100), hold(20, 30), hold(90, 95)}), 2);
}

TEST(torture_overlap, readers_share_and_writers_do_not) {
    const auto reader = [](tick from, tick to) { return as(sharing_mode::shared, hold(from, to)); };
    EXPECT_EQ(overlaps({reader(10, 50), reader(20, 60), reader(30, 70)}), 0);
    EXPECT_EQ(overlaps({reader(10, 50), hold(40, 60)}), 1);
    EXPECT_EQ(overlaps({hold(10, 50), reader(40, 60)}), 1);
}

TEST(torture_overlap, permits_are_counted) {
    const auto permit = [](tick from, tick to) { return as(sharing_mode::permit, hold(from, to)); };
    EXPECT_EQ(overlaps({permit(10, 50), permit(20, 60), permit(50, 70)}, 2), 0);
    EXPECT_EQ(overlaps({permit(10, 50), permit(20, 60), permit(49, 70)}, 2), 1);
}

// --------------------------------------------------------------------------------------- fences

std::int64_t regressions(const attempts& all, fence_step step = fence_step::each_hold) {
    return check_fences(all, step).regressions;
}

TEST(torture_fence, growing_numbers_are_sound) {
    EXPECT_EQ(regressions({hold(10, 20, 1), hold(30, 40, 2), hold(50, 60, 7)}), 0);
}

TEST(torture_fence, a_smaller_and_an_equal_number_are_found) {
    EXPECT_EQ(regressions({hold(10, 20, 2), hold(30, 40, 1)}), 1);
    EXPECT_EQ(regressions({hold(10, 20, 2), hold(30, 40, 2)}), 1);
    EXPECT_EQ(regressions({hold(10, 20, 9), hold(30, 40, 10), hold(50, 60, 3)}), 1);
}

TEST(torture_fence, only_who_asked_after_the_grant_must_have_a_larger_one) {
    auto queued = hold(30, 40, 1); // had its place in the queue before the other was granted
    queued.asked = 5;
    EXPECT_EQ(regressions({hold(10, 20, 2), queued}), 0);
    queued.fence = 2;
    EXPECT_EQ(regressions({hold(10, 20, 2), queued}), 1) << "but never the same";
}

TEST(torture_fence, a_lease_handed_on_in_one_process_may_keep_its_fence_where_that_is_declared) {
    const attempts passed{of_process(1, hold(10, 20, 5)), of_process(1, hold(30, 40, 5))};
    EXPECT_EQ(regressions(passed, fence_step::each_grant), 0);
    EXPECT_EQ(regressions(passed, fence_step::each_hold), 1);
    EXPECT_EQ(regressions({of_process(1, hold(10, 20, 5)), of_process(2, hold(30, 40, 5))},
                          fence_step::each_grant),
              1);
}

TEST(torture_fence, readers_do_not_count) {
    EXPECT_EQ(regressions({hold(10, 20, 5), as(sharing_mode::shared, hold(30, 40, 5))}), 0);
}

// -------------------------------------------------------------------------------------- counters

attempt write(tick when, std::int64_t read) {
    auto one = hold(when - 5, when + 1);
    one.read = read;
    one.wrote = when;
    one.effect = effect::written;
    return one;
}

TEST(torture_counter, each_builds_on_the_last) {
    const auto report = check_counter(attempts{write(10, 0), write(20, 1), write(30, 2)});
    EXPECT_EQ(report.written, 3);
    EXPECT_EQ(report.lost, 0);
    EXPECT_EQ(report.unexplained, 0);
}

TEST(torture_counter, a_lost_update_is_found) {
    const auto report = check_counter(attempts{write(10, 0), write(20, 1), write(30, 1)});
    EXPECT_EQ(report.lost, 1);
    EXPECT_EQ(report.unexplained, 1);
    EXPECT_TRUE(report.first);
}

TEST(torture_counter, a_holder_that_outstayed_its_lease_explains_what_it_destroyed) {
    auto stale = write(40, 0); // read before the others, wrote after them
    stale.deadline = 12;
    const auto report =
        check_counter(attempts{write(10, 0), write(20, 1), write(30, 2), stale, write(50, 1)});
    EXPECT_EQ(report.lost, 2) << "the second and the third are gone; one of them was done again";
    EXPECT_EQ(report.unexplained, 0);
}

TEST(torture_counter, who_was_killed_while_writing_may_or_may_not_have_written) {
    auto killed = write(0, 1);
    killed.effect = effect::writing;
    killed.wrote = 0;
    EXPECT_EQ(check_counter(attempts{write(10, 0), killed, write(30, 2)}).unexplained, 0);
    EXPECT_EQ(check_counter(attempts{write(10, 0), killed, write(30, 1)}).unexplained, 0);
    EXPECT_EQ(check_counter(attempts{write(10, 0), killed, write(30, 7)}).unexplained, 1);
}

// ----------------------------------------------------------------------------------------- vault

using verb = vault_question::verb;

TEST(torture_vault, keeps_out_whoever_comes_with_a_smaller_fence) {
    vault resource;
    const auto ask = [&](verb what, std::int64_t fence, std::int64_t value = 0) {
        return resource.ask({.what = what, .fence = fence, .value = value}, 0);
    };
    EXPECT_EQ(ask(verb::write, 5, 1).accepted, 1);
    EXPECT_EQ(ask(verb::raise, 7).accepted, 1);
    EXPECT_EQ(ask(verb::write, 5, 9).accepted, 0) << "raised above it, though nothing was written";
    EXPECT_EQ(ask(verb::read, 6).accepted, 0);
    EXPECT_EQ(ask(verb::read, 7).value, 1);
    EXPECT_EQ(ask(verb::write, 7, 2).accepted, 1);
    EXPECT_EQ(resource.refused(), 2);
    EXPECT_EQ(check_vault(resource.log()).written, 2);
    EXPECT_EQ(check_vault(resource.log()).lost, 0);
}

TEST(torture_vault, a_write_that_does_not_build_on_the_last_is_found) {
    const std::vector<vault_entry> log{{1, 1, 0}, {2, 2, 1}, {2, 2, 0}, {3, 3, 0}};
    EXPECT_EQ(check_vault(log).lost, 1);
    EXPECT_TRUE(check_vault(log).first);
}

// -------------------------------------------------------------------------------------- liveness

const std::vector<window> always{{0, 1000}};

TEST(torture_liveness, a_lock_that_is_free_while_somebody_waits_is_found) {
    const auto report = check_liveness(attempts{hold(10, 20), wait(15, 90)}, 1, always);
    EXPECT_EQ(report.longest_gap, 70);
    EXPECT_EQ(report.longest_miss, 70);
    EXPECT_EQ(report.longest_wait, 75);
    ASSERT_TRUE(report.missed);
    EXPECT_EQ(report.missed->asked, 15);
}

TEST(torture_liveness, a_wait_for_a_holder_is_no_gap) {
    auto next = hold(90, 95);
    next.asked = 15;
    const auto report = check_liveness(attempts{hold(10, 90), next}, 1, always);
    EXPECT_EQ(report.longest_gap, 1) << "the one instant before the first hold";
    EXPECT_EQ(report.longest_wait, 75);
}

TEST(torture_liveness, many_small_gaps_in_one_wait_add_up) {
    const auto report = check_liveness(
        attempts{wait(10, 100), hold(20, 30), hold(40, 50), hold(60, 70)}, 1, always);
    EXPECT_EQ(report.longest_gap, 30);
    EXPECT_EQ(report.longest_miss, 60);
}

TEST(torture_liveness, only_healthy_times_count) {
    const std::vector<window> healthy{{0, 30}, {80, 200}};
    const auto report = check_liveness(attempts{hold(10, 20), wait(15, 90)}, 1, healthy);
    EXPECT_EQ(report.longest_gap, 10);
    EXPECT_EQ(report.longest_wait, 15);
}

TEST(torture_liveness, a_permit_is_free_while_fewer_than_all_are_out) {
    const auto permit = [](attempt one) { return as(sharing_mode::permit, one); };
    const attempts all{permit(hold(10, 50)), permit(hold(10, 90)), permit(wait(20, 80))};
    EXPECT_EQ(check_liveness(all, 2, always).longest_gap, 30);
    EXPECT_EQ(check_liveness(all, 3, always).longest_gap, 60);
}

TEST(torture_liveness, healthy_is_what_the_disturbances_and_their_settling_leave) {
    const auto left = healthy_windows({0, 100}, {{40, 50}, {10, 20}, {45, 47}, {95, never}}, 5);
    ASSERT_EQ(left.size(), 3U);
    EXPECT_EQ(left[0].from, 0);
    EXPECT_EQ(left[0].to, 10);
    EXPECT_EQ(left[1].from, 25);
    EXPECT_EQ(left[1].to, 40);
    EXPECT_EQ(left[2].from, 55);
    EXPECT_EQ(left[2].to, 95);
}

// -------------------------------------------------------------------------------------- schedule

TEST(torture_schedule, the_same_seed_gives_the_same_faults) {
    const schedule_options options{.seed = 42, .length = 30s, .ttl = 1s, .workers = 4};
    const auto one = draw_schedule(options);
    const auto other = draw_schedule(options);
    ASSERT_EQ(one.faults.size(), other.faults.size());
    for (std::size_t i = 0; i < one.faults.size(); ++i) {
        EXPECT_EQ(one.faults[i].at, other.faults[i].at);
        EXPECT_EQ(one.faults[i].worker, other.faults[i].worker);
    }
}

TEST(torture_schedule, begins_without_pauses_and_ends_in_peace) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        for (const auto length : {10s, 30s, 300s}) {
            const auto drawn =
                draw_schedule({.seed = seed, .length = length, .ttl = 1s, .workers = 4});
            EXPECT_FALSE(drawn.faults.empty());
            for (const auto& one : drawn.faults) {
                EXPECT_TRUE(one.what != fault_kind::pause || one.at > drawn.pauses_from);
                EXPECT_LE(one.at + one.length, length - quiet_of(1s));
                EXPECT_LT(one.worker, 4U);
            }
        }
    }
}

} // namespace
} // namespace holdfast::cli::ordeal
