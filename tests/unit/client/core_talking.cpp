#include "unit/client/stage.hpp"

namespace holdfast::detail {
namespace {

// ------------------------------------------------------------------------------------- acquiring

TEST(acquiring, takes_one_request_and_counts_the_deadline_from_before_it_was_sent) {
    stage s;
    const auto asked = s.now;
    auto& a = s.asks("x", {.ttl = 10s});
    EXPECT_FALSE(a.told);
    s.now += 2s; // the answer takes its time
    s.grants(7);
    ASSERT_TRUE(a.lease);
    EXPECT_EQ(a.lease->fence, fence{7});
    EXPECT_EQ(a.lease->deadline(), asked + 10s - 10ms);
    EXPECT_TRUE(a.lease->held_at(s.now));
    EXPECT_FALSE(a.lease->held_at(asked + 10s - 10ms));
}

TEST(acquiring, asks_once_and_is_told_contended_when_it_does_not_want_to_wait) {
    stage s;
    auto& a = s.asks("x", {.wait = 0s});
    const auto request = s.take<do_attempt>();
    EXPECT_EQ(request.join, joining::none);
    s.answers(request, contended{});
    EXPECT_TRUE(a.contended());
    EXPECT_EQ(s.unsettled(), 0U);
    EXPECT_EQ(s.count<do_withdraw>(), 0U) << "nothing was left behind, so nothing is withdrawn";
}

TEST(acquiring, asks_again_with_the_same_nonce_after_an_answer_that_never_came) {
    stage s;
    auto& a = s.asks("x");
    const auto first = s.take<do_attempt>();
    s.answers(first, failure{errc::outcome_unknown, applied::maybe, {}});
    EXPECT_FALSE(a.told);
    s.passes(1s);
    const auto second = s.take<do_attempt>();
    EXPECT_EQ(second.what->nonce, first.what->nonce);
    EXPECT_NE(second.call.ticket, first.call.ticket);
    s.answers(second, s.grant_for(second, 1));
    EXPECT_TRUE(a.lease);
}

TEST(acquiring, gives_back_a_grant_that_came_after_its_own_deadline) {
    stage s;
    auto& a = s.asks("x", {.ttl = 1s});
    const auto late = s.take<do_attempt>();
    s.passes(2s);
    s.answers(late, s.grant_for(late, 1));
    EXPECT_FALSE(a.told);
    EXPECT_EQ(s.count<do_release>(), 1U);
    s.passes(100ms);
    const auto again = s.take<do_attempt>();
    EXPECT_NE(again.what->nonce, late.what->nonce) << "the old one has been given back";
}

TEST(acquiring, tells_who_asks_once_that_its_answer_came_too_late) {
    stage s;
    auto& a = s.asks("x", {.wait = 0s, .ttl = 1s});
    const auto late = s.take<do_attempt>();
    s.now += 2s;
    s.answers(late, s.grant_for(late, 1));
    ASSERT_TRUE(a.told) << "and not after a pause";
    EXPECT_FALSE(a.lease);
    EXPECT_FALSE(a.contended());
    EXPECT_EQ(s.count<do_release>(), 1U);
}

TEST(acquiring, waits_for_the_engine_to_push_and_asks_again_twice_in_a_ttl) {
    stage s;
    auto& a = s.asks("x", {.ttl = 10s});
    EXPECT_EQ(s.count<do_attempt>(), 1U);
    s.refuses();
    s.passes(4s);
    EXPECT_EQ(s.count<do_attempt>(), 0U);
    s.passes(1s);
    const auto poll = s.take<do_attempt>();
    EXPECT_EQ(poll.join, joining::queue);
    s.answers(poll, contended{});
    s.pushes(s.grant_for({{{}, s.now, {}}, poll.what, poll.join}, 5));
    ASSERT_TRUE(a.lease);
    EXPECT_EQ(a.lease->fence, fence{5});
}

TEST(acquiring, asks_at_once_when_woken_even_if_the_hint_came_while_asking) {
    stage s;
    s.asks("x");
    const auto first = s.take<do_attempt>();
    s.wakes(first.what->nonce);
    s.answers(first, contended{});
    EXPECT_EQ(s.count<do_attempt>(), 1U);
    s.refuses();
    s.wakes(first.what->nonce);
    EXPECT_EQ(s.count<do_attempt>(), 1U);
}

TEST(acquiring, uses_a_grant_pushed_while_a_poll_is_on_its_way_and_ignores_the_polls_answer) {
    stage s;
    auto& a = s.asks("x", {.ttl = 10s});
    s.refuses();
    s.passes(5s);
    const auto poll = s.take<do_attempt>();
    const auto g = s.grant_for(poll, 9);
    s.pushes(g);
    ASSERT_TRUE(a.lease);
    s.answers(poll, g);
    EXPECT_EQ(s.count<do_withdraw>() + s.count<do_release>(), 0U);
    EXPECT_TRUE(a.lease->held_at(s.now));
}

TEST(acquiring, withdraws_what_a_late_poll_may_have_granted_anew_after_the_release) {
    stage s;
    auto& a = s.asks("x", {.ttl = 10s});
    s.refuses();
    s.passes(5s);
    const auto poll = s.take<do_attempt>();
    s.pushes(s.grant_for(poll, 9));
    s.releases(a);
    s.released();
    s.answers(poll, s.grant_for(poll, 10));
    EXPECT_EQ(s.count<do_withdraw>(), 1U);
}

TEST(acquiring, asks_what_is_true_when_a_session_that_is_over_still_pushes) {
    stage s{stage::with_sessions()};
    auto& a = s.asks("x");
    const auto old = s.grant_for(s.refuses_with_place(bond_id{1}), 3, bond_id{1});
    s.ends_bond(bond_id{1});
    s.passes(0s);
    const auto again = s.take<do_attempt>();
    EXPECT_EQ(again.what->nonce, old.nonce) << "the same claim, in a new session";
    s.answers(again, contended{});
    s.pushes(old);
    EXPECT_FALSE(a.told);
    EXPECT_EQ(s.count<do_release>() + s.count<do_withdraw>(), 0U) << "its new place stays";
    EXPECT_EQ(s.count<do_attempt>(), 1U);
}

TEST(acquiring, takes_its_place_again_when_the_bond_that_kept_it_is_lost) {
    stage s;
    s.asks("x");
    const auto first = s.refuses_with_place(bond_id{1});
    s.ends_bond(bond_id{1});
    s.passes(0s);
    EXPECT_EQ(s.take<do_attempt>().what->nonce, first.what->nonce);
}

TEST(acquiring, keeps_its_place_alive_by_renewing_it) {
    stage s;
    s.asks("x", {.ttl = 9s});
    s.refuses_with_place(bond_id{1});
    s.passes(3s);
    EXPECT_EQ(s.take<do_renew>().bonds, std::vector{bond_id{1}});
}

TEST(acquiring, is_not_hurried_by_an_engine_that_says_ask_again_at_once) {
    stage s;
    s.asks("x");
    s.refuses(0s);
    s.passes(999us);
    EXPECT_EQ(s.count<do_attempt>(), 0U);
    s.passes(1us);
    EXPECT_EQ(s.count<do_attempt>(), 1U);
}

// -------------------------------------------------------------------------------------- giving up

TEST(giving_up, times_out_on_time_and_withdraws_the_place) {
    stage s;
    auto& a = s.asks("x", {.wait = 2s});
    s.refuses();
    s.passes(1999ms);
    EXPECT_FALSE(a.told);
    s.passes(1ms);
    EXPECT_EQ(a.error, error_code{errc::timed_out});
    EXPECT_EQ(s.unsettled(), 1U);
    s.withdrawn();
    EXPECT_EQ(s.unsettled(), 0U);
}

TEST(giving_up, says_so_if_the_engine_was_away_or_left_us_without_an_answer) {
    stage s;
    auto& away = s.asks("x", {.wait = 1s});
    for (int i = 0; i < 50 && !away.told; ++i) {
        if (s.count<do_attempt>() > 0)
            s.fails(errc::backend_unavailable, applied::no);
        s.passes(100ms);
    }
    EXPECT_EQ(away.error, error_code{errc::backend_unavailable});
    auto& silent = s.asks("y", {.wait = 1s});
    s.passes(1s);
    EXPECT_EQ(silent.error, error_code{errc::outcome_unknown});
}

TEST(giving_up, just_after_asking_again_is_a_time_out_like_any_other) {
    stage s;
    auto& a = s.asks("x");
    s.grants(1);
    auto& b = s.asks("x", {.wait = 1s});
    s.passes(999ms);
    s.releases(a);
    EXPECT_EQ(s.count<do_attempt>(), 1U);
    s.passes(1ms);
    EXPECT_EQ(b.error, error_code{errc::timed_out});
}

TEST(giving_up, comes_after_one_request_for_those_who_ask_but_once) {
    stage s;
    s.asks("x", {.ttl = 6s}, mode::permit);
    auto& once = s.asks("x", {.wait = 0s, .ttl = 6s}, mode::permit);
    s.passes(999ms);
    EXPECT_FALSE(once.told);
    s.passes(1ms);
    EXPECT_EQ(once.error, error_code{errc::outcome_unknown});
}

TEST(giving_up, is_not_put_off_by_a_pause_that_others_have_to_make) {
    stage s;
    s.asks("x", {}, mode::permit);
    for (int i = 0; i < 10; ++i) {
        s.fails(errc::backend_unavailable, applied::no);
        s.passes(1s);
    }
    s.fails(errc::backend_unavailable, applied::no);
    auto& once = s.asks("x", {.wait = 0s}, mode::permit);
    EXPECT_EQ(s.count<do_attempt>(), 1U) << "asked now, not after the pause";
    s.fails(errc::backend_unavailable, applied::no);
    EXPECT_EQ(once.error, error_code{errc::backend_unavailable});
}

TEST(giving_up, is_not_contended_because_of_a_lease_of_ours_that_has_ended_unnoticed) {
    stage s;
    s.asks("x", {.ttl = 1s, .renew = false});
    s.grants(1);
    s.now += 1h; // the process was stopped, and its timers have not run yet
    auto& once = s.asks("x", {.wait = 0s, .ttl = 1s, .renew = false});
    EXPECT_FALSE(once.told);
    s.passes(0s);
    s.grants(2);
    EXPECT_TRUE(once.lease);
}

TEST(giving_up, while_a_request_is_on_its_way_withdraws_after_its_answer) {
    stage s;
    auto& a = s.asks("x", {.wait = 1s});
    const auto request = s.take<do_attempt>();
    s.cancels(a);
    EXPECT_EQ(a.error, error_code{errc::cancelled});
    EXPECT_EQ(s.count<do_withdraw>(), 0U);
    s.answers(request, s.grant_for(request, 3));
    EXPECT_EQ(s.count<do_withdraw>(), 1U) << "a grant that raced with it is not leaked";
    s.withdrawn();
    EXPECT_EQ(s.unsettled(), 0U);
}

TEST(giving_up, withdraws_again_until_it_is_certain_or_the_ttl_has_passed) {
    stage s;
    auto& a = s.asks("x", {.ttl = 3s, .lock_delay = 1s});
    s.refuses();
    s.cancels(a);
    s.withdrawn(applied::maybe);
    s.passes(1s);
    EXPECT_GE(s.count<do_withdraw>(), 1U);
    s.withdrawn(applied::maybe);
    s.passes(4s);
    if (s.count<do_withdraw>() > 0)
        s.withdrawn(applied::maybe);
    s.passes(1s);
    EXPECT_EQ(s.unsettled(), 0U) << "the engine has ended it by itself";
}

TEST(giving_up, on_a_session_withdraws_until_it_is_told_because_others_keep_that_alive) {
    stage s{stage::with_sessions()};
    auto& a = s.asks("x", {.ttl = 3s});
    s.refuses();
    s.cancels(a);
    for (int i = 0; i < 20; ++i) {
        s.withdrawn(applied::maybe);
        s.passes(1s);
    }
    EXPECT_EQ(s.unsettled(), 1U);
    s.withdrawn(applied::no);
    EXPECT_EQ(s.unsettled(), 0U);
}

TEST(giving_up, is_final_when_the_engine_refuses) {
    stage s;
    auto& a = s.asks("x");
    auto& b = s.asks("x");
    s.fails(errc::backend_refused, applied::no);
    EXPECT_EQ(a.error, error_code{errc::backend_refused});
    EXPECT_EQ(b.error, error_code{errc::backend_refused});
    EXPECT_EQ(s.count<do_attempt>(), 0U);
}

// ------------------------------------------------------------------------------------- spinning

constexpr acquire_options spinning{.waiting = waiting::spin(4ms, 20ms)};

TEST(spinning_waiters, take_no_place_and_ask_again_after_pauses_that_grow) {
    stage s;
    auto& a = s.asks("x", spinning);
    std::vector<duration> pauses;
    for (int i = 0; i < 6; ++i) {
        const auto asked = s.take<do_attempt>();
        EXPECT_EQ(asked.join, joining::none);
        s.answers(asked, contended{});
        EXPECT_EQ(s.count<do_attempt>(), 0U) << "not at once";
        const auto refused = s.now;
        while (s.count<do_attempt>() == 0 && s.now < refused + 1s)
            s.passes(1ms);
        pauses.push_back(s.now - refused);
    }
    for (std::size_t i = 0; i < pauses.size(); ++i) {
        const auto longest = std::min<duration>(4ms * (1 << i), 20ms);
        EXPECT_GE(pauses[i], longest / 2) << i;
        EXPECT_LE(pauses[i], longest + 1ms) << i;
    }
    s.grants(1);
    EXPECT_TRUE(a.lease);
    EXPECT_EQ(s.count<do_withdraw>(), 0U);
}

TEST(spinning_waiters, leave_nothing_behind_when_their_time_is_over) {
    stage s;
    auto& a = s.asks("x", {.wait = 50ms, .waiting = waiting::spin()});
    while (!a.told) {
        s.refuses();
        s.passes(10ms);
    }
    EXPECT_EQ(a.error, errc::timed_out);
    EXPECT_EQ(s.count<do_withdraw>(), 0U);
    EXPECT_EQ(s.unsettled(), 0U);
}

TEST(spinning_waiters, do_not_mix_with_those_who_queue) {
    stage s;
    s.asks("x", spinning);
    s.asks("x");
    EXPECT_EQ(s.take<do_attempt>().join, joining::none);
    EXPECT_EQ(s.take<do_attempt>().join, joining::queue);
}

// ---------------------------------------------------------------------------- retry policies

TEST(policies, give_up_when_the_engine_was_away_often_enough) {
    stage s;
    auto& a = s.asks("x", {.retry = retry::times(2, 100ms)});
    for (int i = 0; i < 2; ++i) {
        s.fails(errc::backend_unavailable, applied::no);
        EXPECT_FALSE(a.told);
        s.passes(99ms);
        EXPECT_EQ(s.count<do_attempt>(), 0U) << "its pause, not ours";
        s.passes(1ms);
    }
    s.fails(errc::backend_unavailable, applied::no);
    EXPECT_EQ(a.error, errc::backend_unavailable);
    EXPECT_EQ(s.unsettled(), 0U);
}

TEST(policies, count_failures_only_and_begin_anew_after_an_answer) {
    stage s;
    auto& a = s.asks("x", {.retry = retry::once(10ms)});
    for (int i = 0; i < 3; ++i) {
        s.fails(errc::backend_unavailable, applied::no);
        s.passes(10ms);
        s.refuses(1s); // contended is no failure
        s.passes(1s);
    }
    EXPECT_FALSE(a.told);
    s.grants(1);
    EXPECT_TRUE(a.lease);
}

TEST(policies, let_even_one_who_asks_once_ask_again_if_the_engine_was_away) {
    stage s;
    auto& a = s.asks("x", {.wait = 0s, .retry = retry::times(3, 10ms)});
    s.fails(errc::backend_unavailable, applied::no);
    EXPECT_FALSE(a.told);
    s.passes(10ms);
    s.refuses();
    EXPECT_TRUE(a.contended());
}

TEST(policies, are_each_their_own_when_several_wait) {
    stage s;
    auto& hasty = s.asks("x", {.retry = retry::times(3, 10ms)});
    auto& calm = s.asks("x", {.retry = retry::times(3, 1s)});
    auto& patient = s.asks("x");
    for (int i = 0; i < 4; ++i) {
        s.fails(errc::backend_unavailable, applied::no);
        EXPECT_EQ(hasty.told, i == 3);
        s.passes(10ms);
        if (s.count<do_attempt>() == 0)
            s.passes(1s);
    }
    EXPECT_FALSE(calm.told) << "three tries of somebody else are not its own";
    EXPECT_FALSE(patient.told);
    s.grants(1);
    EXPECT_TRUE(calm.lease);
}

TEST(policies, do_not_begin_anew_because_somebody_else_was_answered) {
    stage s;
    auto& a = s.asks("x", {.order = queueing::fair, .retry = retry::once(10ms)});
    auto& b = s.asks("x", {.order = queueing::fair, .retry = retry::times(9, 10ms)});
    ASSERT_EQ(s.count<do_attempt>(), 2U) << "each has a place of its own";
    s.fails(errc::backend_unavailable, applied::no);
    s.fails(errc::backend_unavailable, applied::no);
    s.passes(10ms);
    const auto of_a = s.take<do_attempt>();
    s.refuses(1s); // b is in the queue
    s.answers(of_a, failure{errc::backend_unavailable, applied::no, {}});
    EXPECT_EQ(a.error, errc::backend_unavailable) << "it was to try once more";
    EXPECT_FALSE(b.told);
}

TEST(policies, take_back_what_an_unknown_answer_may_have_left) {
    stage s;
    auto& a = s.asks("x", {.retry = retry::once(10ms)});
    s.fails(errc::outcome_unknown, applied::maybe);
    s.passes(10ms);
    s.fails(errc::outcome_unknown, applied::maybe);
    EXPECT_EQ(a.error, errc::outcome_unknown);
    EXPECT_EQ(s.count<do_withdraw>(), 1U);
}

// ------------------------------------------------------------------------------- requirements

TEST(requirements, are_refused_with_the_reason_before_the_engine_is_asked) {
    auto weak = stage::everything();
    weak.fair = false;
    weak.fences = fence_grade::none;
    stage s{weak};
    EXPECT_EQ(s.asks("x", {.require = guarantee::fence}).error, errc::unsupported);
    EXPECT_EQ(s.asks("x", {.require = guarantee::fair}).error, errc::unsupported);
    EXPECT_EQ(s.count<do_attempt>(), 0U);
    s.asks("x", {.require = guarantee::survives_clock_jump});
    EXPECT_EQ(s.count<do_attempt>(), 1U);
}

TEST(requirements, no_permit_carries_a_fence) {
    stage s;
    EXPECT_EQ(s.asks("x", {.require = guarantee::fence}, mode::permit).error, errc::unsupported);
    EXPECT_FALSE(s.asks("y", {.require = guarantee::fence}, mode::exclusive).told);
}

} // namespace
} // namespace holdfast::detail
