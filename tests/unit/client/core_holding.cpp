#include "unit/client/stage.hpp"

namespace holdfast::detail {
namespace {

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

TEST(holding, an_explicit_lease_outlives_the_ttl_of_the_session_that_carries_it) {
    stage s{stage::with_sessions()};
    auto& a = s.asks("x", {.ttl = 60s, .renew = false});
    const auto request = s.take<do_attempt>();
    auto g = s.grant_for(request, 1);
    g.terms.ttl = 30s; // the session's
    s.answers(request, g);
    s.passes(10s);
    EXPECT_EQ(s.count<do_renew>(), 1U) << "of the session, though nothing else lives on it";
    s.renews(renewed::yes);
    s.passes(30s);
    EXPECT_TRUE(a.lease->held_at(s.now));
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

// ------------------------------------------------------------------- what the engine keeps alive

TEST(sharing_a_bond, a_release_is_sent_until_it_is_settled_however_long_that_takes) {
    auto able = stage::everything();
    able.ttl = ttl_scope::shared; // others prolong what this release is about
    stage s{able};
    auto& a = s.asks("x", {.ttl = 1s});
    s.grants(1, bond_id{7});
    s.asks("y", {.ttl = 1s});
    s.grants(2, bond_id{7});
    s.releases(a);
    for (int i = 0; i < 20; ++i) {
        s.released(release_result::unknown);
        for (int step = 0; step < 10 && s.count<do_release>() == 0; ++step) {
            s.passes(200ms);
            while (s.count<do_renew>() > 0)
                s.renews(renewed::yes);
        }
        ASSERT_EQ(s.count<do_release>(), 1U) << i;
    }
    s.released();
    EXPECT_EQ(s.unsettled(), 0U);
}

TEST(parting, a_release_that_failed_goes_ahead_of_the_next_attempt_at_that_name) {
    stage s;
    auto& a = s.asks("x");
    s.grants(1);
    s.releases(a);
    s.released(release_result::unknown);
    EXPECT_EQ(s.count<do_release>(), 0U) << "it pauses";
    s.asks("y");
    EXPECT_EQ(s.count<do_release>(), 0U) << "another name";
    s.asks("x", {.wait = 0s});
    EXPECT_EQ(s.count<do_release>(), 1U);
    s.released();
    EXPECT_EQ(s.unsettled(), 0U);
}

TEST(closing, asks_those_at_work_to_stop) {
    stage s;
    auto& a = s.asks("x");
    s.grants(1);
    s.closes();
    ASSERT_EQ(s.stopped.size(), 1U);
    EXPECT_EQ(s.stopped[0], a.lease);
    EXPECT_FALSE(a.lease->held_at(s.now));
}

} // namespace
} // namespace holdfast::detail
