#include "backends/sqlite/liveness.hpp"
#include "world.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace holdfast::sqlite::test {
namespace {

class sqlite_locking : public testing::Test {
protected:
    temporary_directory directory;
    made_up_machine here;
    std::string file = directory.file();
    peer a{file, here}, b{file, here}, c{file, here};
};

TEST_F(sqlite_locking, a_free_name_is_granted_and_another_client_is_told_who_holds_it) {
    const auto mine = claim_for({});
    const auto given = a.take(mine);
    EXPECT_TRUE(given.fence);
    EXPECT_EQ(given.terms.ttl, 30s);
    EXPECT_EQ(given.terms.margin, 0s);
    EXPECT_LE(given.terms.anchor, here.now());
    EXPECT_GT(given.terms.anchor, here.now() - soon);

    const auto no = b.refused(claim_for({}), joining::none);
    ASSERT_TRUE(no.holder);
    EXPECT_EQ(no.holder->purpose, "a test");
    EXPECT_EQ(no.place, 0U);
    EXPECT_LE(no.retry_after, 15s);

    EXPECT_EQ(a.release(mine, given), release_result::released);
    static_cast<void>(b.take(claim_for({})));
}

TEST_F(sqlite_locking, other_names_do_not_matter) {
    static_cast<void>(a.take(claim_for({.name = "x"})));
    static_cast<void>(b.take(claim_for({.name = "X"})));
    static_cast<void>(b.take(claim_for({.name = std::string(1024, 'x')})));
    static_cast<void>(b.take(claim_for({.name = "ü/ß"})));
}

TEST_F(sqlite_locking, the_same_nonce_again_is_the_same_grant) {
    const auto mine = claim_for({});
    const auto once = a.take(mine);
    const auto twice = a.take(mine);
    EXPECT_EQ(once.fence, twice.fence);
    EXPECT_EQ(once.reserved, twice.reserved);
    EXPECT_EQ(once.terms.bond, twice.terms.bond);
    EXPECT_EQ(look(file, "SELECT count(*) FROM holder"), 1);
}

TEST_F(sqlite_locking, what_was_released_is_lost_when_released_again) {
    const auto mine = claim_for({});
    const auto given = a.take(mine);
    EXPECT_EQ(a.release(mine, given), release_result::released);
    EXPECT_EQ(a.release(mine, given), release_result::lost);
}

TEST_F(sqlite_locking, nobody_releases_what_another_nonce_holds) {
    const auto mine = claim_for({});
    static_cast<void>(a.take(mine));
    const auto theirs = claim_for({});
    EXPECT_EQ(b.release(theirs, grant{theirs->nonce, fence{}, 0, {}}), release_result::lost);
    static_cast<void>(c.refused(claim_for({})));
}

TEST_F(sqlite_locking, waiters_are_served_in_their_order_by_the_release_itself) {
    const auto first = claim_for({}), second = claim_for({}), third = claim_for({});
    const auto held = a.take(first);
    EXPECT_EQ(b.refused(second).place, 1U);
    EXPECT_EQ(c.refused(third).place, 2U);
    EXPECT_EQ(b.refused(second).place, 1U) << "asking again keeps the place";

    EXPECT_EQ(a.release(first, held), release_result::released);
    const auto to_b = b.await_grant(second->nonce);
    ASSERT_TRUE(to_b);
    EXPECT_GT(to_b->fence.value(), held.fence.value() + held.reserved);
    EXPECT_EQ(c.refused(third).place, 1U);

    EXPECT_EQ(b.release(second, *to_b), release_result::released);
    const auto to_c = c.await_grant(third->nonce);
    ASSERT_TRUE(to_c);
    EXPECT_GT(to_c->fence.value(), to_b->fence.value() + to_b->reserved);
}

TEST_F(sqlite_locking, changes_hands_on_one_page) {
    auto pages_written = [&, before = std::uintmax_t{0}]() mutable {
        constexpr std::uintmax_t page = 24 + 1024; // in the log
        const auto size = std::filesystem::file_size(file + "-wal");
        return (size - std::exchange(before, size)) / page;
    };
    const auto first = claim_for({}), second = claim_for({}), third = claim_for({});
    const auto held = a.take(first);
    static_cast<void>(b.refused(second));
    a.release(first, held); // all three are known now, and have their bonds
    static_cast<void>(c.refused(third));
    const auto to_b = b.await_grant(second->nonce);
    ASSERT_TRUE(to_b);
    static_cast<void>(pages_written());

    b.release(second, *to_b);
    EXPECT_EQ(pages_written(), 1U) << "fence, holder and waiter are neighbours";
    static_cast<void>(a.refused(claim_for({})));
    EXPECT_EQ(pages_written(), 1U) << "who queues changes the queue, and nothing else";
}

TEST_F(sqlite_locking, a_try_does_not_overtake_those_who_wait) {
    const auto first = claim_for({.mode = mode::shared}), writer = claim_for({});
    static_cast<void>(a.take(first));
    static_cast<void>(b.refused(writer));
    static_cast<void>(c.refused(claim_for({.mode = mode::shared}), joining::none));
    EXPECT_EQ(look(file, "SELECT count(*) FROM waiter"), 1);
}

TEST_F(sqlite_locking, a_waiter_that_was_granted_hears_it_also_by_asking_again) {
    const auto first = claim_for({}), second = claim_for({});
    const auto held = a.take(first);
    static_cast<void>(b.refused(second));
    a.release(first, held);
    EXPECT_TRUE(b.take(second).fence > held.fence);
    b.engine->on_readable();
    EXPECT_TRUE(b.said.grants.empty()) << "told once";
}

TEST_F(sqlite_locking, a_client_can_wait_for_what_it_holds_itself) {
    const auto first = claim_for({}), second = claim_for({});
    const auto held = a.take(first);
    static_cast<void>(a.refused(second));
    EXPECT_EQ(a.said.wants, std::vector{first->nonce});
    a.release(first, held);
    ASSERT_EQ(a.said.grants.size(), 1U) << "in the same breath";
    EXPECT_EQ(a.said.grants.front().nonce, second->nonce);
}

TEST_F(sqlite_locking, a_withdrawn_waiter_leaves_its_place_to_the_next) {
    const auto first = claim_for({}), second = claim_for({}), third = claim_for({});
    const auto held = a.take(first);
    static_cast<void>(b.refused(second));
    static_cast<void>(c.refused(third));
    EXPECT_EQ(b.withdraw(second), applied::no);
    EXPECT_TRUE(c.hear_until([&] { return !c.said.wakings.empty(); }))
        << "now it watches the holder";
    EXPECT_EQ(c.refused(third).place, 1U);
    a.release(first, held);
    EXPECT_TRUE(c.await_grant(third->nonce));
}

TEST_F(sqlite_locking, withdrawing_takes_back_a_grant_nobody_heard_of) {
    const auto first = claim_for({}), second = claim_for({}), third = claim_for({});
    const auto held = a.take(first);
    static_cast<void>(b.refused(second));
    static_cast<void>(c.refused(third));
    a.release(first, held); // b has it, but does not listen
    EXPECT_EQ(b.withdraw(second), applied::no);
    EXPECT_TRUE(c.await_grant(third->nonce));
    EXPECT_EQ(b.withdraw(second), applied::no) << "definite, and nothing to do";
    b.engine->on_readable();
    EXPECT_TRUE(b.said.grants.empty());
}

TEST_F(sqlite_locking, a_release_wakes_only_the_next_in_line) {
    peer d{file, here};
    const auto first = claim_for({}), second = claim_for({});
    const auto held = a.take(first);
    static_cast<void>(b.refused(second));
    static_cast<void>(c.refused(claim_for({})));
    static_cast<void>(d.refused(claim_for({})));
    EXPECT_FALSE(b.has_news() || c.has_news() || d.has_news()) << "who waits, sleeps";
    a.release(first, held);
    EXPECT_TRUE(b.has_news());
    EXPECT_FALSE(c.has_news() || d.has_news());
}

TEST_F(sqlite_locking, a_holder_is_told_once_that_another_wants_it) {
    const auto first = claim_for({});
    static_cast<void>(a.take(first));
    static_cast<void>(b.refused(claim_for({})));
    static_cast<void>(c.refused(claim_for({})));
    ASSERT_TRUE(a.hear_until([&] { return !a.said.wants.empty(); }));
    a.engine->on_readable();
    EXPECT_EQ(a.said.wants, std::vector{first->nonce});
}

TEST_F(sqlite_locking, who_is_granted_while_others_wait_hears_that_too) {
    const auto first = claim_for({}), second = claim_for({});
    const auto held = a.take(first);
    static_cast<void>(b.refused(second));
    static_cast<void>(c.refused(claim_for({})));
    a.release(first, held);
    ASSERT_TRUE(b.await_grant(second->nonce));
    EXPECT_EQ(b.said.wants, std::vector{second->nonce});
}

// ------------------------------------------------------------------------------- shared, permits

TEST_F(sqlite_locking, readers_go_together_and_a_writer_waits_for_all_of_them) {
    const auto r1 = claim_for({.mode = mode::shared}), r2 = claim_for({.mode = mode::shared});
    const auto w = claim_for({});
    const auto g1 = a.take(r1);
    const auto g2 = b.take(r2);
    static_cast<void>(c.refused(w));
    a.release(r1, g1);
    static_cast<void>(c.refused(w));
    b.release(r2, g2);
    const auto gw = c.await_grant(w->nonce);
    ASSERT_TRUE(gw);
    EXPECT_GT(gw->fence, g1.fence);
    EXPECT_GT(gw->fence, g2.fence);
}

TEST_F(sqlite_locking,
       a_reader_does_not_pass_a_waiting_writer_but_readers_behind_it_come_together) {
    peer d{file, here};
    const auto r1 = claim_for({.mode = mode::shared}), w = claim_for({});
    const auto r2 = claim_for({.mode = mode::shared}), r3 = claim_for({.mode = mode::shared});
    const auto g1 = a.take(r1);
    static_cast<void>(b.refused(w));
    EXPECT_EQ(c.refused(r2).place, 2U);
    EXPECT_EQ(d.refused(r3).place, 3U);
    a.release(r1, g1);
    const auto gw = b.await_grant(w->nonce);
    ASSERT_TRUE(gw);
    b.release(w, *gw);
    const auto g2 = c.await_grant(r2->nonce), g3 = d.await_grant(r3->nonce);
    ASSERT_TRUE(g2 && g3);
    EXPECT_GE(g2->fence.value(), gw->fence.value() + gw->reserved) << "not below the writer before";
    EXPECT_GE(g3->fence.value(), gw->fence.value() + gw->reserved);
}

TEST_F(sqlite_locking, one_may_read_under_ones_own_write_even_while_others_wait) {
    const auto w = claim_for({});
    const auto gw = a.take(w);
    static_cast<void>(b.refused(claim_for({})));
    const auto r = claim_for({.mode = mode::shared, .within = w->nonce});
    const auto gr = a.take(r);
    static_cast<void>(c.refused(claim_for({.mode = mode::shared}), joining::none));

    a.release(w, gw); // still reading
    static_cast<void>(c.refused(claim_for({}), joining::none));
    b.engine->on_readable();
    EXPECT_TRUE(b.said.grants.empty());
    a.release(r, gr);
    EXPECT_TRUE(b.hear_until([&] { return b.said.grants.size() == 1; }));
}

TEST_F(sqlite_locking, reading_within_a_write_that_is_not_held_waits_like_everybody) {
    const auto w = claim_for({});
    static_cast<void>(a.take(w));
    static_cast<void>(b.refused(claim_for({.mode = mode::shared, .within = claim_for({})->nonce})));
}

TEST_F(sqlite_locking, permits_are_given_out_until_none_is_left) {
    const wanted_lock one_of_two{.mode = mode::permit, .permits = 2};
    const auto p1 = claim_for(one_of_two), p2 = claim_for(one_of_two), p3 = claim_for(one_of_two);
    const auto g1 = a.take(p1);
    const auto g2 = b.take(p2);
    EXPECT_FALSE(g1.fence);
    EXPECT_EQ(g1.reserved, 0U);
    static_cast<void>(c.refused(p3));
    b.release(p2, g2);
    EXPECT_TRUE(c.await_grant(p3->nonce));
    static_cast<void>(b.refused(claim_for({}))); // neither exclusive nor shared beside permits
    static_cast<void>(b.refused(claim_for({.mode = mode::shared})));
}

// ----------------------------------------------------------------------------------------- time

TEST_F(sqlite_locking, a_lease_that_is_not_renewed_ends_after_its_ttl_and_not_before) {
    const auto first = claim_for({.ttl = 10s}), second = claim_for({});
    const auto held = a.take(first);
    here.pass(9s);
    EXPECT_LE(b.refused(second).retry_after, 1s + 1ms)
        << "the first in line asks when the lease can end";
    here.pass(2s);
    EXPECT_GT(b.take(second).fence, held.fence);

    ASSERT_TRUE(a.hear_until([&] { return !a.said.lost.empty(); }));
    EXPECT_EQ(a.said.lost, std::vector{held.terms.bond});
    EXPECT_EQ(a.renew(held.terms.bond), renewed::lost);
    EXPECT_EQ(a.release(first, held), release_result::lost);
    static_cast<void>(c.refused(claim_for({})));
}

TEST_F(sqlite_locking, a_renewed_lease_goes_on) {
    const auto held = a.take(claim_for({.ttl = 10s}));
    for (int i = 0; i < 5; ++i) {
        here.pass(6s);
        const auto answer = a.renew(std::vector{held.terms.bond}).front();
        EXPECT_EQ(answer.outcome, renewed::yes);
        EXPECT_EQ(answer.terms.ttl, 10s);
        EXPECT_LE(answer.terms.anchor, here.now());
        static_cast<void>(b.refused(claim_for({}), joining::none));
    }
}

TEST_F(sqlite_locking, a_lease_that_nobody_took_can_still_be_renewed_after_its_time) {
    const auto held = a.take(claim_for({.ttl = 10s}));
    here.pass(1min);
    EXPECT_EQ(a.renew(held.terms.bond), renewed::yes);
    static_cast<void>(b.refused(claim_for({})));
}

TEST_F(sqlite_locking, all_grants_of_one_ttl_share_a_bond_and_end_with_it) {
    const auto x = claim_for({.name = "x", .ttl = 10s}), y = claim_for({.name = "y", .ttl = 10s});
    const auto gx = a.take(x), gy = a.take(y);
    EXPECT_EQ(gx.terms.bond, gy.terms.bond);
    EXPECT_NE(gx.terms.bond, a.take(claim_for({.name = "z", .ttl = 20s})).terms.bond);
    EXPECT_EQ(look(file, "SELECT count(*) FROM bond"), 2);

    here.pass(11s);
    static_cast<void>(b.take(claim_for({.name = "x"})));
    EXPECT_EQ(a.release(y, gy), release_result::lost);
    static_cast<void>(b.take(claim_for({.name = "y"})));
}

TEST_F(sqlite_locking, taking_another_lock_renews_the_bond_when_a_third_of_its_life_has_gone) {
    const auto first = a.take(claim_for({.name = "x", .ttl = 9s}));
    here.pass(1s);
    EXPECT_EQ(a.take(claim_for({.name = "y", .ttl = 9s})).terms.anchor, first.terms.anchor);
    here.pass(5s);
    EXPECT_GT(a.take(claim_for({.name = "z", .ttl = 9s})).terms.anchor, first.terms.anchor + 5s);
}

TEST_F(sqlite_locking, an_explicit_lease_has_a_bond_of_its_own_that_nothing_prolongs) {
    const wanted_lock for_ten_seconds{.name = "x", .ttl = 10s, .renewal = renewal::none};
    const auto x = claim_for(for_ten_seconds);
    const auto gx = a.take(x);
    const auto gy = a.take(claim_for({.name = "y", .ttl = 10s}));
    EXPECT_NE(gx.terms.bond, gy.terms.bond);
    here.pass(6s);
    EXPECT_EQ(a.take(x).terms.anchor, gx.terms.anchor) << "asking twice does not renew it";
    static_cast<void>(a.take(claim_for({.name = "z", .ttl = 10s})));
    here.pass(5s);
    static_cast<void>(b.take(claim_for({.name = "x"})));
    static_cast<void>(b.refused(claim_for({.name = "y"}), joining::none));
}

TEST_F(sqlite_locking, an_explicit_lease_that_had_to_wait_counts_from_its_grant) {
    const auto first = claim_for({});
    const auto held = a.take(first);
    const auto x = claim_for({.ttl = 10s, .renewal = renewal::none});
    static_cast<void>(b.refused(x));
    here.pass(6s);
    a.release(first, held);
    const auto gx = b.await_grant(x->nonce);
    ASSERT_TRUE(gx);
    EXPECT_GT(gx->terms.anchor, here.now() - 1s);
    here.pass(9s);
    static_cast<void>(c.refused(claim_for({}), joining::none));
    EXPECT_EQ(b.release(x, *gx), release_result::released);
    EXPECT_EQ(look(file, "SELECT count(*) FROM bond WHERE shared = 0"), 0);
}

TEST_F(sqlite_locking, a_refused_try_for_an_explicit_lease_leaves_nothing) {
    static_cast<void>(a.take(claim_for({})));
    static_cast<void>(b.refused(claim_for({.renewal = renewal::none}), joining::none));
    EXPECT_EQ(look(file, "SELECT count(*) FROM bond"), 1);
    const auto waiting = claim_for({.renewal = renewal::none});
    static_cast<void>(b.refused(waiting));
    EXPECT_EQ(look(file, "SELECT count(*) FROM bond"), 2);
    b.withdraw(waiting);
    EXPECT_EQ(look(file, "SELECT count(*) FROM bond"), 1);
}

TEST_F(sqlite_locking, the_lock_delay_keeps_others_out_after_a_lease_that_was_not_released) {
    const wanted_lock delayed{.ttl = 10s, .lock_delay = 20s};
    const auto first = claim_for(delayed);
    const auto held = a.take(first);
    EXPECT_EQ(held.terms.ttl, 10s);
    here.pass(29s);
    static_cast<void>(b.refused(claim_for({}), joining::none));
    here.pass(2s);
    const auto second = claim_for(delayed);
    const auto next = b.take(second);
    EXPECT_EQ(b.release(second, next), release_result::released);
    static_cast<void>(c.take(claim_for({}))); // a clean release frees at once
}

TEST_F(sqlite_locking, a_frozen_waiter_is_passed_over_and_keeps_its_place) {
    const auto first = claim_for({.ttl = 1h}), frozen = claim_for({.ttl = 10s}),
               third = claim_for({.ttl = 1h});
    const auto held = a.take(first);
    static_cast<void>(b.refused(frozen));
    static_cast<void>(c.refused(third));
    here.pass(11s);
    a.release(first, held);
    const auto given = c.await_grant(third->nonce);
    ASSERT_TRUE(given);
    EXPECT_EQ(b.refused(frozen).place, 1U);
    c.release(third, *given);
    EXPECT_TRUE(b.await_grant(frozen->nonce));
}

TEST_F(sqlite_locking, a_frozen_waiter_that_comes_back_to_a_free_name_is_served) {
    const auto first = claim_for({.ttl = 1h}), frozen = claim_for({.ttl = 10s});
    const auto held = a.take(first);
    static_cast<void>(b.refused(frozen));
    here.pass(11s);
    a.release(first, held);
    static_cast<void>(b.take(frozen));
    EXPECT_EQ(look(file, "SELECT count(*) FROM waiter"), 0);
}

// --------------------------------------------------------------------------------------- forget

TEST_F(sqlite_locking, a_forgotten_bond_is_never_used_again) {
    const auto x = claim_for({.name = "x", .ttl = 10s});
    const auto gx = a.take(x);
    a.engine->forget(gx.terms.bond);
    EXPECT_EQ(a.renew(gx.terms.bond), renewed::lost);
    EXPECT_NE(a.take(claim_for({.name = "y", .ttl = 10s})).terms.bond, gx.terms.bond);
    EXPECT_NE(a.take(x).terms.bond, gx.terms.bond) << "the same claim goes on under another bond";
}

TEST_F(sqlite_locking, what_a_forgotten_bond_held_ends_by_time_and_is_cleared_away) {
    static_cast<void>(a.take(claim_for({.name = "y", .ttl = 1h})));
    const auto gx = a.take(claim_for({.name = "x", .ttl = 10s, .lock_delay = 5s}));
    a.engine->forget(gx.terms.bond);
    here.pass(14s);
    static_cast<void>(b.refused(claim_for({.name = "x"}), joining::none));
    here.pass(2s);
    static_cast<void>(a.take(claim_for({.name = "z", .ttl = 1h})));
    EXPECT_EQ(look(file, "SELECT count(*) FROM holder WHERE name = 'x'"), 0);
    EXPECT_EQ(look(file, "SELECT count(*) FROM bond"), 1);
}

TEST_F(sqlite_locking, a_grant_pushed_under_a_forgotten_bond_is_asked_for_again) {
    const auto first = claim_for({.name = "x"}), second = claim_for({.name = "x"});
    const auto held = a.take(first);
    const auto other = b.take(claim_for({.name = "y"}));
    static_cast<void>(b.refused(second));
    b.engine->forget(other.terms.bond);
    a.release(first, held);
    ASSERT_TRUE(b.hear_until([&] { return !b.said.wakings.empty(); }));
    EXPECT_TRUE(b.said.grants.empty());
    EXPECT_NE(b.take(second).terms.bond, other.terms.bond);
}

// -------------------------------------------------------------------------------------- letters

TEST_F(sqlite_locking, a_letter_brings_the_grant_as_it_stands_in_the_file) {
    const auto first = claim_for({}), second = claim_for({}), third = claim_for({});
    const auto held = a.take(first);
    static_cast<void>(b.refused(second));
    static_cast<void>(c.refused(third));
    EXPECT_EQ(a.release(first, held), release_result::released);
    const auto got = b.await_grant(second->nonce);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->fence.value(), look(file, "SELECT fence FROM holder"));
    EXPECT_EQ(got->reserved, look(file, "SELECT reserved FROM holder"));
    EXPECT_EQ(static_cast<std::int64_t>(got->terms.bond), look(file, "SELECT bond FROM holder"));
    EXPECT_EQ((got->terms.anchor + got->terms.ttl).time_since_epoch().count(),
              look(file,
                   "SELECT expires_at FROM bond b JOIN holder h"
                   " ON b.process = h.process AND b.id = h.bond"));
    EXPECT_EQ(b.said.wants, std::vector{second->nonce}) << "others wait behind it";
}

TEST_F(sqlite_locking, a_letter_older_than_our_asking_is_not_believed) {
    const auto mine = claim_for({});
    static_cast<void>(a.take(claim_for({})));
    static_cast<void>(b.refused(mine));
    const auto who = static_cast<process_id>(look(file, "SELECT process FROM waiter"));
    const grant taken_since{mine->nonce, fence{1}, 0, {bond_id{1}, here.now(), 30s, {}}};
    watch_list{file + ".d"}.send(who, letter::about_grant(taken_since, false, here.now() - 1s));
    b.engine->on_readable();
    EXPECT_TRUE(b.said.grants.empty());
}

TEST_F(sqlite_locking, beside_bad_news_no_letter_is_believed) {
    const auto mine = claim_for({});
    static_cast<void>(a.take(claim_for({})));
    static_cast<void>(b.refused(mine));
    const auto who = static_cast<process_id>(look(file, "SELECT process FROM waiter"));
    const grant taken_since{mine->nonce, fence{1}, 0, {bond_id{1}, here.now(), 30s, {}}};
    watch_list{file + ".d"}.send(who, {letter::word::taken, mine->nonce});
    b.engine->on_readable(); // and the grant that it speaks of is told of later
    watch_list{file + ".d"}.send(who, letter::about_grant(taken_since, false, here.now() + 1s));
    b.engine->on_readable();
    EXPECT_TRUE(b.said.grants.empty());
}

TEST_F(sqlite_locking, the_death_of_one_with_whom_nothing_is_shared_any_more_is_heard_once) {
    const auto first = claim_for({}), second = claim_for({});
    const auto held = a.take(first);
    static_cast<void>(b.refused(second)); // watches a
    EXPECT_EQ(a.release(first, held), release_result::released);
    ASSERT_TRUE(b.await_grant(second->nonce));
    a.crash();
    if (b.has_news())
        b.engine->on_readable();
    EXPECT_FALSE(b.has_news()) << "whoever polls would never sleep again";
    EXPECT_TRUE(b.said.wakings.empty());
}

// ------------------------------------------------------------------------------------ operators

TEST_F(sqlite_locking, an_operator_takes_a_lock_away_and_the_holder_is_told) {
    const auto first = claim_for({}), second = claim_for({});
    const auto held = a.take(first);
    static_cast<void>(b.refused(second));
    EXPECT_EQ(c.force_release("a"), 1U);
    EXPECT_TRUE(b.await_grant(second->nonce));
    ASSERT_TRUE(a.hear_until([&] { return !a.said.taken.empty(); }));
    EXPECT_EQ(a.said.taken, std::vector{first->nonce});
    EXPECT_EQ(a.release(first, held), release_result::lost);
    EXPECT_EQ(c.force_release("nobody holds this"), 0U);
}

TEST_F(sqlite_locking, what_else_the_holder_of_a_taken_lock_held_stays_his) {
    const auto x = claim_for({.name = "x", .ttl = 10s}), y = claim_for({.name = "y", .ttl = 10s});
    const auto gx = a.take(x), gy = a.take(y);
    EXPECT_EQ(gx.terms.bond, gy.terms.bond);
    EXPECT_EQ(c.force_release("x"), 1U);
    static_cast<void>(b.take(claim_for({.name = "x"})));
    here.pass(9s);
    EXPECT_EQ(a.renew(gx.terms.bond), renewed::yes);
    here.pass(9s);
    static_cast<void>(b.refused(claim_for({.name = "y"}), joining::none));
    EXPECT_TRUE(a.said.lost.empty());
    EXPECT_EQ(a.release(y, gy), release_result::released);
}

TEST_F(sqlite_locking, who_missed_the_letter_hears_with_the_next_renewal_what_was_taken) {
    const auto x = claim_for({.name = "x"});
    const auto held = a.take(x);
    EXPECT_EQ(c.force_release("x"), 1U); // a does not read its letters
    EXPECT_EQ(a.renew(held.terms.bond), renewed::yes);
    EXPECT_EQ(a.said.taken, std::vector{x->nonce});
    EXPECT_EQ(look(file, "SELECT count(*) FROM taken"), 0) << "told, so no longer kept";
}

TEST_F(sqlite_locking, who_missed_the_letter_hears_with_a_renewal_along_the_way) {
    const auto x = claim_for({.name = "x"});
    static_cast<void>(a.take(x));
    EXPECT_EQ(c.force_release("x"), 1U);
    here.pass(15s); // half of its life: the next attempt renews the bond as well
    static_cast<void>(a.take(claim_for({.name = "y"})));
    EXPECT_EQ(a.said.taken, std::vector{x->nonce});
}

TEST_F(sqlite_locking, what_was_taken_and_granted_again_is_not_lost_twice) {
    const auto x = claim_for({.name = "x"});
    static_cast<void>(a.take(x));
    EXPECT_EQ(c.force_release("x"), 1U);
    const auto again = a.take(x); // the same claim: its first answer may have been unknown
    EXPECT_EQ(a.renew(again.terms.bond), renewed::yes);
    EXPECT_TRUE(a.said.taken.empty());
    EXPECT_EQ(a.release(x, again), release_result::released);
}

TEST_F(sqlite_locking, an_explicit_lease_that_was_taken_takes_its_own_bond_along) {
    const auto x = claim_for({.name = "x", .renewal = renewal::none});
    const auto held = a.take(x);
    EXPECT_EQ(c.force_release("x"), 1U);
    EXPECT_EQ(look(file, "SELECT count(*) FROM bond"), 0);
    ASSERT_TRUE(a.hear_until([&] { return !a.said.taken.empty(); }));
    EXPECT_EQ(a.release(x, held), release_result::lost);
}

TEST_F(sqlite_locking, what_was_taken_from_a_process_is_forgotten_with_it) {
    {
        peer d{file, here};
        static_cast<void>(d.take(claim_for({.name = "x"})));
        EXPECT_EQ(c.force_release("x"), 1U);
        EXPECT_EQ(look(file, "SELECT count(*) FROM taken"), 1);
        d.engine->close(boot_clock::now() + soon);
    }
    EXPECT_EQ(look(file, "SELECT count(*) FROM taken"), 0);
}

TEST_F(sqlite_locking, inspect_shows_holders_and_waiters_in_order) {
    const auto r = claim_for({.name = "jobs/1", .mode = mode::shared});
    const auto given = a.take(r);
    static_cast<void>(b.take(claim_for({.name = "jobs/1", .mode = mode::shared})));
    static_cast<void>(b.refused(claim_for({.name = "jobs/1"})));
    static_cast<void>(c.refused(claim_for({.name = "jobs/1", .mode = mode::shared})));
    static_cast<void>(a.take(claim_for({.name = "other", .ttl = 10s})));
    here.pass(2s);

    const auto all = c.inspect("jobs/*");
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].name, "jobs/1");
    ASSERT_EQ(all[0].holders.size(), 2U);
    EXPECT_EQ(all[0].holders[0].who.purpose, "a test");
    EXPECT_EQ(all[0].holders[0].fence, given.fence);
    EXPECT_GE(all[0].holders[0].held_for, 2s);
    ASSERT_TRUE(all[0].holders[0].remaining);
    EXPECT_LE(*all[0].holders[0].remaining, 28s);
    ASSERT_EQ(all[0].waiters.size(), 2U);
    EXPECT_EQ(all[0].waiters[0].mode, mode::exclusive);
    EXPECT_EQ(all[0].waiters[1].mode, mode::shared);
    EXPECT_EQ(c.inspect().size(), 2U);

    here.pass(9s);
    const auto late = c.inspect("other");
    ASSERT_EQ(late.size(), 1U);
    EXPECT_EQ(late[0].holders[0].remark, "expired; free for the next who asks");
}

TEST_F(sqlite_locking, looking_does_not_make_a_client_known) {
    static_cast<void>(a.inspect());
    static_cast<void>(a.examine());
    EXPECT_EQ(a.force_release("x"), 0U);
    EXPECT_EQ(look(file, "SELECT count(*) FROM process"), 0);
    EXPECT_EQ(files_in(file + ".d"), std::vector<std::string>{"guard"});
}

TEST_F(sqlite_locking, a_sound_file_gives_the_doctor_no_warning) {
    static_cast<void>(a.take(claim_for({})));
    for (const auto& f : b.examine())
        EXPECT_EQ(f.how, finding::grade::good) << f.what;
}

// ------------------------------------------------------------------------------- coming and going

TEST_F(sqlite_locking, closing_gives_everything_back_and_leaves_nothing) {
    {
        peer d{file, here};
        static_cast<void>(d.take(claim_for({.name = "x"})));
        static_cast<void>(d.take(claim_for({.name = "y", .renewal = renewal::none})));
        static_cast<void>(a.take(claim_for({.name = "z"})));
        static_cast<void>(d.refused(claim_for({.name = "z"})));
        const auto waiting = claim_for({.name = "x"});
        static_cast<void>(b.refused(waiting));
        d.engine->close(boot_clock::now() + soon);
        d.crash();
        EXPECT_TRUE(b.await_grant(waiting->nonce));
    }
    a.engine->close(boot_clock::now() + soon);
    b.engine->close(boot_clock::now() + soon);
    for (const char* table : {"process", "bond", "holder", "waiter"})
        EXPECT_EQ(look(file, std::string{"SELECT count(*) FROM "} + table), 0) << table;
    EXPECT_EQ(files_in(file + ".d"), std::vector<std::string>{"guard"});
}

TEST_F(sqlite_locking, what_was_not_released_before_closing_is_kept_back_for_its_lock_delay) {
    {
        peer d{file, here};
        static_cast<void>(d.take(claim_for({.name = "x", .lock_delay = 10s})));
        d.engine->close(boot_clock::now() + soon);
    }
    static_cast<void>(b.refused(claim_for({.name = "x"}), joining::none));
    here.pass(9s);
    static_cast<void>(b.refused(claim_for({.name = "x"}), joining::none));
    here.pass(2s);
    static_cast<void>(b.take(claim_for({.name = "x"})));
    EXPECT_EQ(look(file, "SELECT count(*) FROM process"), 1);
}

TEST_F(sqlite_locking, a_lock_delay_has_a_bond_of_its_own) {
    const auto one = claim_for({.name = "x", .lock_delay = 1s});
    const auto two = claim_for({.name = "y", .lock_delay = 1s});
    const auto first = a.take(one), second = a.take(two);
    EXPECT_NE(first.terms.bond, second.terms.bond);
    here.pass(20s);
    EXPECT_EQ(a.renew(second.terms.bond), renewed::yes);
    here.pass(12s); // the first was left to expire, though the second goes on
    static_cast<void>(b.take(claim_for({.name = "x"})));
    static_cast<void>(b.refused(claim_for({.name = "y"}), joining::none));
    EXPECT_EQ(a.release(two, second), release_result::released);
    EXPECT_EQ(look(file, "SELECT count(*) FROM bond WHERE NOT shared"), 0);
}

TEST_F(sqlite_locking, who_reads_under_his_own_write_has_its_fence) {
    const auto write = claim_for({.name = "x"});
    const auto written = a.take(write);
    const auto read =
        a.take(claim_for({.name = "x", .mode = mode::shared, .within = write->nonce}));
    EXPECT_EQ(read.fence, written.fence);
}

TEST_F(sqlite_locking, the_log_is_written_back_beside_the_work) {
    const auto log = file + "-wal";
    peer d{file};
    std::uintmax_t longest = 0;
    for (int i = 0; i < 30'000; ++i) {
        const auto again = claim_for({.name = "a"});
        d.release(again, d.take(again));
        if (i % 100 == 0)
            longest = std::max(longest, std::filesystem::file_size(log));
    }
    EXPECT_GT(longest, 1'000'000U) << "nothing was to be written back";
    EXPECT_LT(longest, 50'000'000U) << "never written back, it would have twice that length";
}

TEST_F(sqlite_locking, ten_thousand_acquisitions_leave_nothing) {
    {
        peer d{file};
        for (int i = 0; i < 10'000; ++i) {
            const auto what = claim_for({.name = "lock " + std::to_string(i % 100)});
            ASSERT_EQ(d.release(what, d.take(what)), release_result::released);
        }
        EXPECT_EQ(look(file, "SELECT count(*) FROM holder"), 0);
        EXPECT_LT(look(file, "SELECT page_count FROM pragma_page_count"), 32);
    }
    for (const char* table : {"process", "bond", "holder", "waiter"})
        EXPECT_EQ(look(file, std::string{"SELECT count(*) FROM "} + table), 0) << table;
    EXPECT_EQ(files_in(file + ".d"), std::vector<std::string>{"guard"});
}

TEST_F(sqlite_locking, a_busy_file_is_answered_in_time) {
    static_cast<void>(a.take(claim_for({})));
    static_cast<void>(b.refused(claim_for({})));
    process writer{[&](const auto& tell) {
        connection db{file};
        db.wait_until(boot_clock::now() + soon);
        db.execute("BEGIN IMMEDIATE");
        tell(1);
        ::pause();
        return 0;
    }};
    EXPECT_EQ(writer.hear(), 1);
    const auto at = boot_clock::now();
    const auto mine = claim_for({.name = "x"});
    b.said.answers.clear();
    b.engine->attempt({{}, at, at + 30ms}, mine, joining::queue);
    EXPECT_LT(boot_clock::now() - at, 5s);
    const auto& f = std::get<failure>(b.said.answers.at(0));
    EXPECT_EQ(f.code, errc::backend_unavailable);
    EXPECT_EQ(f.applied, applied::no);
    b.engine->release({{}, at, at}, mine, {});
    EXPECT_EQ(b.said.releases.back(), release_result::unknown);
    EXPECT_EQ(b.inspect().size(), 1U) << "reading waits for nobody";
    writer.kill();
    static_cast<void>(b.take(mine));
}

TEST_F(sqlite_locking, a_forked_child_cannot_use_or_harm_what_its_parent_opened) {
    const auto mine = claim_for({});
    const auto held = a.take(mine);
    process child{[&](const auto&) {
        const bool refused = a.fails(claim_for({.name = "x"})).code == errc::unsupported;
        a.said.releases.clear();
        const bool kept = a.release(mine, held) == release_result::unknown;
        a.crash(); // its destructor must not touch anything
        return refused && kept ? 0 : 1;
    }};
    EXPECT_EQ(child.wait(), 0);
    EXPECT_EQ(a.renew(held.terms.bond), renewed::yes);
    static_cast<void>(b.refused(claim_for({}), joining::none));
    EXPECT_EQ(a.release(mine, held), release_result::released);
}

} // namespace
} // namespace holdfast::sqlite::test
