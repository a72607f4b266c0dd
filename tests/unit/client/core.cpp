#include "unit/client/stage.hpp"

#include <boost/system/errc.hpp>

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

// --------------------------------------------------------------------------------------- holding

TEST(holding, is_renewed_at_a_third_and_the_deadline_moves_with_the_answer) {
    stage s;
    const auto begin = s.now;
    auto& a = s.asks("x");
    s.grants(1);
    s.passes(9999ms);
    EXPECT_EQ(s.count<do_renew>(), 0U);
    s.passes(1ms);
    ASSERT_EQ(s.count<do_renew>(), 1U);
    s.renews(renewed::yes);
    EXPECT_EQ(a.lease->deadline(), begin + 10s + 30s - 30ms);
}

TEST(holding, keeps_its_deadline_while_renewals_are_not_answered_and_is_lost_at_it) {
    stage s;
    auto& a = s.asks("x");
    s.grants(1);
    const auto deadline = a.lease->deadline();
    int tries = 0;
    while (s.lost.empty() && tries < 100) {
        s.passes(100ms);
        while (s.count<do_renew>() > 0) {
            ++tries;
            s.renews(renewed::unknown);
        }
        EXPECT_EQ(a.lease->deadline(), deadline);
    }
    EXPECT_GE(tries, 3) << "several fit before the deadline";
    ASSERT_EQ(s.lost.size(), 1U);
    ASSERT_EQ(s.stopped.size(), 1U) << "the work was asked to stop before";
    EXPECT_FALSE(a.lease->held_at(s.now));
    EXPECT_TRUE(a.lease->lost_at(s.now));
    EXPECT_EQ(s.forgotten.size(), 1U);
    EXPECT_EQ(s.count<do_release>(), 0U) << "a lost lease is not released: a lock delay must count";
}

TEST(holding, ends_at_once_when_the_engine_says_not_yours) {
    stage s;
    auto& a = s.asks("x");
    s.grants(1);
    s.passes(10s);
    s.renews(renewed::lost);
    ASSERT_EQ(s.lost.size(), 1U);
    EXPECT_FALSE(a.lease->held_at(s.now));
    parter p;
    s.releases(a, &p);
    EXPECT_EQ(p.told, release_result::lost);
    EXPECT_EQ(s.lost.size(), 1U) << "lost once";
}

TEST(holding, asks_the_work_to_stop_before_the_deadline_of_an_explicit_lease) {
    stage s;
    auto& a = s.asks("x", {.ttl = 6s, .renew = false, .stop_margin = 2s});
    s.grants(1);
    s.passes(3900ms);
    EXPECT_TRUE(s.stopped.empty());
    s.passes(200ms);
    ASSERT_EQ(s.stopped.size(), 1U);
    EXPECT_TRUE(a.lease->held_at(s.now));
    EXPECT_EQ(s.count<do_renew>(), 0U);
    s.passes(2s);
    EXPECT_EQ(s.lost.size(), 1U);
}

TEST(holding, ends_after_max_hold_and_is_given_back_to_others) {
    stage s;
    s.asks("x", {.max_hold = 15s});
    s.grants(1);
    s.passes(10s);
    s.renews(renewed::yes);
    s.passes(5s);
    EXPECT_EQ(s.stopped.size(), 1U);
    EXPECT_EQ(s.lost.size(), 1U);
    EXPECT_EQ(s.count<do_release>(), 1U);
}

TEST(holding, that_ends_at_max_hold_is_left_to_expire_where_a_lock_delay_counts) {
    stage s;
    s.asks("x", {.lock_delay = 5s, .max_hold = 2s});
    s.grants(1);
    s.passes(2s);
    EXPECT_EQ(s.lost.size(), 1U);
    s.passes(1min);
    EXPECT_EQ(s.count<do_release>() + s.count<do_renew>(), 0U) << "a release would free it at once";
}

TEST(holding,
     together_with_a_reader_who_was_lost_ends_without_a_release_where_a_lock_delay_counts) {
    stage s;
    s.asks("x", {.lock_delay = 5s, .max_hold = 2s}, mode::shared);
    s.grants(1);
    auto& other = s.asks("x", {.lock_delay = 5s}, mode::shared);
    s.passes(2s);
    EXPECT_EQ(s.lost.size(), 1U);
    parter p;
    s.releases(other, &p);
    EXPECT_EQ(p.told, release_result::released);
    EXPECT_EQ(s.count<do_release>(), 0U);
}

TEST(holding, an_explicit_lease_of_a_session_ends_by_itself_while_the_session_is_renewed) {
    stage s{stage::with_sessions()};
    auto& a = s.asks("x", {.ttl = 45s, .renew = false});
    s.grants(1, bond_id{77}); // a session of 45 s
    auto& b = s.asks("y", {.ttl = 45s});
    s.grants(2, bond_id{77});
    for (int i = 0; i < 2; ++i) {
        s.passes(15s);
        s.renews(renewed::yes);
    }
    EXPECT_TRUE(a.lease->held_at(s.now));
    s.passes(15s);
    ASSERT_EQ(s.lost.size(), 1U);
    EXPECT_EQ(s.lost[0], a.lease);
    EXPECT_EQ(s.count<do_release>(), 1U);
    EXPECT_TRUE(b.lease->held_at(s.now));
}

TEST(holding, on_one_bond_ends_for_all_when_the_bond_is_lost) {
    stage s;
    auto& a = s.asks("x");
    s.grants(1, bond_id{77});
    auto& b = s.asks("y");
    s.grants(2, bond_id{77});
    s.passes(10s);
    EXPECT_EQ(s.count<do_renew>(), 1U);
    EXPECT_EQ(s.take<do_renew>().bonds.size(), 1U);
    s.ends_bond(bond_id{77});
    EXPECT_EQ(s.lost.size(), 2U);
    EXPECT_FALSE(a.lease->held_at(s.now));
    EXPECT_FALSE(b.lease->held_at(s.now));
}

TEST(holding, ends_for_one_name_when_an_operator_takes_it) {
    stage s;
    auto& a = s.asks("x");
    const auto taken = s.grants(1, bond_id{77});
    auto& b = s.asks("y");
    s.grants(2, bond_id{77});
    s.takes_grant(taken.nonce);
    EXPECT_FALSE(a.lease->held_at(s.now));
    EXPECT_TRUE(b.lease->held_at(s.now));
    EXPECT_EQ(s.lost.size(), 1U);
}

TEST(holding, tells_the_earliest_deadline_of_those_who_would_rather_die) {
    stage s;
    EXPECT_EQ(s.deadly(), never);
    auto& a = s.asks("x", {.ttl = 10s, .on_deadline = on_deadline::kill});
    s.grants(1);
    EXPECT_EQ(s.deadly(), a.lease->deadline());
    s.releases(a);
    EXPECT_EQ(s.deadly(), never) << "disarmed before the release is sent";
}

// ------------------------------------------------------------------------------------- releasing

TEST(releasing, compares_the_nonce_and_stops_the_renewals_first) {
    stage s;
    auto& a = s.asks("x");
    const auto g = s.grants(1);
    parter p;
    s.releases(a, &p);
    EXPECT_FALSE(a.lease->held_at(s.now));
    EXPECT_FALSE(a.lease->lost_at(s.now));
    EXPECT_FALSE(p.told.has_value());
    const auto r = s.take<do_release>();
    EXPECT_EQ(r.given.nonce, g.nonce);
    s.passes(20s);
    EXPECT_EQ(s.count<do_renew>(), 0U);
}

TEST(releasing, without_an_answer_says_unknown_and_goes_on_until_settled) {
    stage s;
    auto& a = s.asks("x");
    s.grants(1);
    parter p;
    s.releases(a, &p);
    s.released(release_result::unknown);
    EXPECT_EQ(p.told, release_result::unknown);
    EXPECT_EQ(s.unsettled(), 1U);
    s.passes(1s);
    s.released(release_result::released);
    EXPECT_EQ(s.unsettled(), 0U);
}

TEST(releasing, is_retried_until_the_lease_as_granted_has_ended_by_itself) {
    stage s;
    auto& a = s.asks("x", {.ttl = 1s});
    const auto request = s.take<do_attempt>();
    auto g = s.grant_for(request, 1);
    g.terms.ttl = 10s; // the engine gives no shorter ones
    s.answers(request, g);
    s.releases(a);
    for (int i = 0; i < 5; ++i) {
        s.released(release_result::unknown);
        s.passes(1s);
    }
    EXPECT_EQ(s.unsettled(), 1U) << "longer than asked for";
    s.passes(10s);
    s.released(release_result::unknown);
    EXPECT_EQ(s.unsettled(), 0U);
}

TEST(releasing, after_the_deadline_says_lost_even_if_nobody_noticed_yet) {
    stage s;
    auto& a = s.asks("x", {.ttl = 1s, .renew = false});
    s.grants(1);
    s.now += 1h; // a process that was stopped: no timer has run
    parter p;
    s.releases(a, &p);
    EXPECT_EQ(p.told, release_result::lost);
    EXPECT_EQ(s.lost.size(), 1U);
}

TEST(closing, answers_all_who_wait_and_gives_back_all_that_is_held) {
    stage s;
    auto& a = s.asks("x");
    s.grants(1);
    auto& b = s.asks("x");
    auto& c = s.asks("y");
    s.refuses();
    s.closes();
    EXPECT_EQ(b.error, error_code{errc::cancelled});
    EXPECT_EQ(c.error, error_code{errc::cancelled});
    EXPECT_FALSE(a.lease->held_at(s.now));
    s.released();
    s.withdrawn();
    EXPECT_EQ(s.unsettled(), 0U);
    EXPECT_EQ(s.asks("z").error, error_code{errc::unsupported});
}

// ------------------------------------------------------------------------------------ turnstile

TEST(passing, hands_the_lease_on_inside_the_process_with_a_larger_fence) {
    stage s;
    auto& a = s.asks("x");
    s.grants(100);
    auto& b = s.asks("x");
    EXPECT_EQ(s.count<do_attempt>(), 0U) << "one claim per name stands in the engine's queue";
    s.releases(a);
    ASSERT_TRUE(b.lease);
    EXPECT_EQ(b.lease->fence, fence{101});
    EXPECT_EQ(s.count<do_release>(), 0U);
}

TEST(passing, ends_after_64_passes) {
    stage s;
    auto* holder = &s.asks("x");
    s.grants(100);
    for (int pass = 0; pass < 64; ++pass) {
        auto* next = &s.asks("x");
        s.releases(*holder);
        ASSERT_TRUE(next->lease);
        holder = next;
    }
    EXPECT_EQ(holder->lease->fence, fence{164});
    auto& one_more = s.asks("x");
    s.releases(*holder);
    EXPECT_FALSE(one_more.told);
    EXPECT_EQ(s.count<do_release>(), 1U);
    EXPECT_EQ(s.count<do_attempt>(), 1U) << "with a claim of its own, behind the release";
}

TEST(passing, ends_after_50_ms_or_when_somebody_else_wants_it) {
    stage s;
    auto& a = s.asks("x");
    s.grants(1);
    auto& b = s.asks("x");
    s.passes(50ms);
    s.releases(a);
    EXPECT_FALSE(b.told);
    EXPECT_EQ(s.count<do_release>(), 1U);

    auto& c = s.asks("y");
    const auto g = s.grants(2); // answers b's claim for x
    static_cast<void>(g);
    const auto mine = s.grants(3);
    ASSERT_TRUE(c.lease);
    auto& d = s.asks("y");
    s.wants(mine.nonce);
    s.releases(c);
    EXPECT_FALSE(d.told);
}

TEST(passing, never_happens_in_fair_order_where_each_has_its_own_place) {
    stage s;
    const acquire_options fair{.order = queueing::fair};
    auto& a = s.asks("x", fair);
    auto& b = s.asks("x", fair);
    EXPECT_EQ(s.count<do_attempt>(), 2U);
    s.grants(1);
    s.refuses();
    ASSERT_TRUE(a.lease);
    s.releases(a);
    EXPECT_FALSE(b.told);
    EXPECT_EQ(s.count<do_release>(), 1U);
}

TEST(passing, is_only_between_equal_claims) {
    stage s;
    auto& a = s.asks("x", {.ttl = 30s});
    s.grants(1);
    auto& b = s.asks("x", {.ttl = 10s});
    EXPECT_EQ(s.count<do_attempt>(), 1U) << "different shapes meet in the engine";
    s.refuses();
    s.releases(a);
    EXPECT_FALSE(b.told);
}

TEST(passing, never_puts_a_write_beside_a_reading_under_it) {
    stage s;
    const auto me = owner_id{1};
    auto& write = s.asks("x", {}, mode::exclusive, me, kind::read_write);
    s.grants(1);
    auto& read = s.asks("x", {}, mode::shared, me, kind::read_write);
    s.grants(1);
    auto& other = s.asks("x", {}, mode::exclusive, owner_id{2}, kind::read_write);
    s.releases(write);
    EXPECT_TRUE(read.lease->held_at(s.now));
    EXPECT_FALSE(other.told) << "it must ask the engine, which knows of the reading";
    EXPECT_EQ(s.count<do_release>(), 1U);
}

TEST(passing, never_happens_to_an_explicit_lease_whose_time_runs) {
    stage s;
    auto& a = s.asks("x", {.renew = false});
    s.grants(1);
    auto& b = s.asks("x", {.renew = false});
    s.releases(a);
    EXPECT_FALSE(b.told);
    EXPECT_EQ(s.count<do_release>(), 1U);
}

TEST(passing, repeats_the_last_fence_when_the_engine_reserved_no_more) {
    stage s;
    auto& a = s.asks("x");
    const auto request = s.take<do_attempt>();
    auto g = s.grant_for(request, 100);
    g.reserved = 1;
    s.answers(request, g);
    auto& b = s.asks("x");
    auto& c = s.asks("x");
    s.releases(a);
    s.releases(b);
    EXPECT_EQ(b.lease->fence, fence{101});
    EXPECT_EQ(c.lease->fence, fence{101});
}

TEST(readers, join_one_grant_until_a_writer_of_ours_queues) {
    stage s;
    auto& a = s.asks("x", {}, mode::shared);
    s.grants(5);
    auto& b = s.asks("x", {}, mode::shared);
    ASSERT_TRUE(a.lease && b.lease);
    EXPECT_EQ(b.lease->fence, a.lease->fence);
    s.asks("x", {}, mode::exclusive);
    s.refuses();
    auto& late = s.asks("x", {}, mode::shared);
    EXPECT_FALSE(late.told);
    s.releases(a);
    EXPECT_EQ(s.count<do_release>(), 0U);
    s.releases(b);
    EXPECT_EQ(s.count<do_release>(), 1U) << "with the last reader";
}

TEST(readers, join_no_grant_that_is_older_than_50_ms) {
    stage s;
    s.asks("x", {}, mode::shared);
    s.grants(5);
    s.passes(50ms);
    EXPECT_FALSE(s.asks("x", {}, mode::shared).told);
    EXPECT_EQ(s.count<do_attempt>(), 1U);
}

TEST(readers, join_no_grant_that_somebody_else_wants) {
    stage s;
    s.asks("x", {}, mode::shared);
    const auto g = s.grants(5);
    s.wants(g.nonce);
    EXPECT_FALSE(s.asks("x", {}, mode::shared).told);
    EXPECT_EQ(s.count<do_attempt>(), 1U);
}

TEST(readers, who_read_already_may_read_again_whoever_waits) {
    stage s;
    const auto me = owner_id{1};
    s.asks("x", {}, mode::shared, me);
    const auto g = s.grants(5);
    s.wants(g.nonce);
    EXPECT_TRUE(s.asks("x", {}, mode::shared, me).lease) << "or it would wait for itself";
}

TEST(readers, who_waited_together_share_one_grant) {
    stage s;
    auto& a = s.asks("x", {}, mode::shared);
    auto& b = s.asks("x", {}, mode::shared);
    EXPECT_EQ(s.count<do_attempt>(), 1U);
    s.grants(5);
    EXPECT_TRUE(a.lease && b.lease);
}

TEST(permits, are_asked_for_one_at_a_time_and_each_is_a_grant) {
    stage s;
    auto& a = s.asks("x", {}, mode::permit);
    auto& b = s.asks("x", {}, mode::permit);
    EXPECT_EQ(s.count<do_attempt>(), 1U);
    s.grants(0);
    EXPECT_EQ(s.count<do_attempt>(), 1U);
    s.grants(0);
    ASSERT_TRUE(a.lease && b.lease);
    s.releases(a);
    EXPECT_TRUE(b.lease->held_at(s.now));
}

// ---------------------------------------------------------------------------------------- owners

TEST(owners, enter_again_without_a_round_trip_and_leave_with_the_last) {
    stage s;
    const auto me = owner_id{1};
    auto& a = s.asks("x", {}, mode::exclusive, me, kind::reentrant);
    s.grants(3);
    auto& b = s.asks("x", {}, mode::exclusive, me, kind::reentrant);
    ASSERT_TRUE(b.lease);
    EXPECT_EQ(b.lease->fence, fence{3});
    EXPECT_FALSE(s.asks("x", {}, mode::exclusive, owner_id{2}, kind::reentrant).told);
    s.releases(b);
    EXPECT_TRUE(a.lease->held_at(s.now));
    s.releases(a);
    EXPECT_FALSE(a.lease->held_at(s.now));
}

TEST(owners, are_told_at_once_that_they_would_wait_for_themselves) {
    stage s;
    const auto me = owner_id{1};
    const auto deadlock = make_error_code(boost::system::errc::resource_deadlock_would_occur);
    s.asks("x", {}, mode::exclusive, me);
    s.grants(1);
    EXPECT_EQ(s.asks("x", {}, mode::exclusive, me).error, deadlock);
    s.asks("y", {}, mode::shared, me, kind::read_write);
    s.grants(1);
    EXPECT_EQ(s.asks("y", {}, mode::exclusive, me, kind::read_write).error, deadlock);
}

TEST(owners, may_read_under_their_own_write) {
    stage s;
    const auto me = owner_id{1};
    s.asks("x", {}, mode::exclusive, me, kind::read_write);
    const auto write = s.grants(4);
    s.asks("x", {}, mode::shared, me, kind::read_write);
    const auto request = s.take<do_attempt>();
    EXPECT_EQ(request.what->within, write.nonce);
}

TEST(capabilities, that_are_missing_are_refused_before_the_engine_is_asked) {
    auto poor = stage::everything();
    poor.shared = poor.permits = poor.fair = poor.lock_delay = false;
    stage s{poor};
    EXPECT_EQ(s.asks("x", {}, mode::shared).error, error_code{errc::unsupported});
    EXPECT_EQ(s.asks("x", {}, mode::permit).error, error_code{errc::unsupported});
    EXPECT_EQ(s.asks("x", {.order = queueing::fair}).error, error_code{errc::unsupported});
    EXPECT_EQ(s.asks("x", {.lock_delay = 1s}).error, error_code{errc::unsupported});
    EXPECT_EQ(s.count<do_attempt>(), 0U);
}

} // namespace
} // namespace holdfast::detail
