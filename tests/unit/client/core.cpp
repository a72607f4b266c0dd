#include "unit/client/stage.hpp"

#include <boost/system/errc.hpp>

namespace holdfast::detail {
namespace {

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

TEST(lining_up, is_for_those_who_wait_for_ever_behind_one_of_us) {
    stage s;
    EXPECT_FALSE(s.asks("x").lined_up) << "nobody holds it yet";
    s.grants(1);
    EXPECT_TRUE(s.asks("x").lined_up);
    EXPECT_FALSE(s.asks("x", {.wait = 1s}).lined_up) << "its time must come";
    EXPECT_FALSE(s.asks("x", {.wait = 0s}).lined_up);
    EXPECT_FALSE(s.asks("x", {.require = guarantee::fence}).lined_up) << "it may be refused";
    EXPECT_FALSE(s.asks("x", {}, mode::exclusive, owner_id{7}).lined_up) << "it may hold it";
    EXPECT_FALSE(s.asks("y").lined_up) << "another name";
}

TEST(lining_up, is_for_equal_claims) {
    const auto behind_a_holder = [](const acquire_options& options, mode how) {
        stage s;
        s.asks("x");
        s.grants(1);
        return s.asks("x", options, how).lined_up;
    };
    EXPECT_TRUE(behind_a_holder({}, mode::exclusive));
    EXPECT_FALSE(behind_a_holder({.ttl = 7s}, mode::exclusive));
    EXPECT_FALSE(behind_a_holder({.order = queueing::fair}, mode::exclusive));
    EXPECT_FALSE(behind_a_holder({}, mode::shared));
    EXPECT_FALSE(behind_a_holder({}, mode::permit));
}

TEST(lining_up, ends_when_the_client_closes_and_by_cancellation) {
    stage s;
    s.asks("x");
    s.grants(1);
    auto& first = s.asks("x");
    auto& second = s.asks("x");
    s.cancels(first);
    EXPECT_EQ(first.error, errc::cancelled);
    s.closes();
    EXPECT_EQ(second.error, errc::cancelled);
    EXPECT_FALSE(s.asks("x").lined_up);
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

// ------------------------------------------------------------------------------------------ fair

constexpr acquire_options in_turn{.order = queueing::fair};

TEST(fair_order, gives_a_grant_to_the_one_whose_place_it_was) {
    stage s;
    auto& a = s.asks("x", in_turn);
    auto& b = s.asks("x", in_turn);
    const auto first = s.take<do_attempt>();
    const auto second = s.take<do_attempt>();
    s.answers(second, s.grant_for(second, 7));
    EXPECT_TRUE(b.lease);
    EXPECT_FALSE(a.told) << "the engine decides who is next";
    s.answers(first, contended{});
    EXPECT_FALSE(a.told);
}

TEST(fair_order, withdraws_the_place_of_the_one_who_gave_up_and_no_other) {
    stage s;
    s.asks("x", in_turn);
    auto& b = s.asks("x", in_turn);
    const auto first = s.take<do_attempt>();
    const auto second = s.take<do_attempt>();
    s.answers(first, contended{});
    s.answers(second, contended{});
    s.cancels(b);
    EXPECT_EQ(s.count<do_withdraw>(), 1U);
    EXPECT_EQ(s.take<do_withdraw>().what->nonce, second.what->nonce);
}

TEST(fair_order, refuses_who_asks_but_once_while_others_of_us_wait) {
    stage s;
    s.asks("x", in_turn);
    auto once = in_turn;
    once.wait = 0s;
    EXPECT_TRUE(s.asks("x", once).contended());
    EXPECT_EQ(s.count<do_attempt>(), 1U);
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
