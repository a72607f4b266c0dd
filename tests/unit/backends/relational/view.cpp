// What follows from one look at a name: for whom it is free, who has to wait, what has to be
// cleared away first. All clocks are given.

#include "backends/relational/view.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast::relational::test {
namespace {

using namespace std::chrono_literals;
using step = next_step::kind;

constexpr server_time server_now = 1'700'000'000'000'000;

[[nodiscard]] nonce number(int n) {
    nonce made;
    made.bytes[0] = static_cast<unsigned char>(n);
    return made;
}

[[nodiscard]] server_time microseconds(duration d) {
    return std::chrono::duration_cast<std::chrono::microseconds>(d).count();
}

/// Of the client with this number, over in so long by the server's clock.
[[nodiscard]] bond_row bond(int whose, duration left = 5s) {
    return {.id = 100 + whose,
            .ttl = 10s,
            .lock_delay = 0s,
            .expires_at = server_now + microseconds(left),
            .renewals = 1,
            .whose = {"host" + std::to_string(whose), whose, "work"}};
}

[[nodiscard]] line_row holder(int who, mode how = mode::exclusive) {
    return {.nonce = number(who),
            .place = 0,
            .mode = how,
            .permits = 1,
            .fair = false,
            .fence = fence{1000 + who},
            .kept_by = bond(who)};
}

[[nodiscard]] line_row waiter(int who, std::int64_t place, mode how = mode::exclusive) {
    auto row = holder(who, how);
    row.place = place;
    row.fence = {};
    return row;
}

[[nodiscard]] line_row fair_waiter(int who, std::int64_t place) {
    auto row = waiter(who, place);
    row.fair = true;
    return row;
}

[[nodiscard]] view seen(std::vector<line_row> rows) {
    view v;
    v.exists = true;
    v.now = server_now;
    v.version = 7;
    for (const auto& r : rows)
        if (r.place > 0)
            v.waiters |= somebody_waits | (r.fair ? fair_ones_wait : 0);
    v.rows = std::move(rows);
    return v;
}

constexpr int me = 1;

[[nodiscard]] claim wants(mode how = mode::exclusive, kind k = kind::plain) {
    claim c;
    c.name = "a";
    c.mode = how;
    c.kind = k;
    c.nonce = number(me);
    c.ttl = 10s;
    return c;
}

class relational_view : public testing::Test {
protected:
    next_step decided(const view& v, const claim& c) {
        return decide(v, c, bond_id{100 + me}, sql::stealing::clock, sightings_, now_);
    }
    /// With our own row among them.
    next_step decided_in_line(view v, const claim& c, std::int64_t place) {
        v.my_place = place;
        v.rows.push_back(waiter(me, place, c.mode));
        return decided(v, c);
    }
    instant now_{1000s};
    sightings sightings_;
};

// ------------------------------------------------------------------------------- what to do next

TEST_F(relational_view, a_name_that_nobody_ever_wanted_gets_a_row) {
    EXPECT_EQ(decided(view{}, wants()).what, step::make_row);
}

// Nobody would renew it: others could take it while we believe in it.
TEST_F(relational_view, what_we_have_under_another_bond_is_cleared_away) {
    auto under_another = holder(me);
    under_another.kept_by->id = 999;
    auto next = decided(seen({under_another}), wants());
    EXPECT_EQ(next.what, step::sweep);
    ASSERT_EQ(next.rubbish.size(), 1U);
    EXPECT_EQ(next.rubbish.front().nonce, number(me));
    EXPECT_EQ(decided(seen({holder(me)}), wants()).what, step::is_ours);
}

TEST_F(relational_view, what_nobody_holds_can_be_ours) {
    for (const auto how : {mode::exclusive, mode::shared, mode::permit}) {
        const auto next = decided(seen({}), wants(how));
        EXPECT_EQ(next.what, step::admit);
        EXPECT_EQ(next.waiters_after, 0);
    }
}

TEST_F(relational_view, what_is_ours_is_recognised_with_its_fence) {
    const auto next = decided(seen({holder(me)}), wants());
    EXPECT_EQ(next.what, step::is_ours);
    EXPECT_EQ(next.fence, fence{1000 + me});
    EXPECT_EQ(
        decided(seen({holder(2, mode::shared), holder(me, mode::shared)}), wants(mode::shared))
            .what,
        step::is_ours);
}

TEST_F(relational_view, what_is_ours_is_so_even_if_it_is_over_by_the_clock) {
    auto old = holder(me);
    old.kept_by = bond(me, -1h);
    EXPECT_EQ(decided(seen({old}), wants()).what, step::is_ours)
        << "whether it still counts is for the bond to say";
}

TEST_F(relational_view, who_holds_it_is_named_and_says_until_when_to_wait) {
    const auto next = decided(seen({holder(2)}), wants());
    EXPECT_EQ(next.what, step::wait);
    ASSERT_TRUE(next.holder);
    EXPECT_EQ(next.holder->host, "host2");
    EXPECT_EQ(next.look_again, 5s);
}

TEST_F(relational_view, the_next_look_is_when_the_first_may_be_over) {
    auto sooner = holder(3, mode::shared);
    sooner.kept_by = bond(3, 2s);
    EXPECT_EQ(decided(seen({holder(2, mode::shared), sooner}), wants()).look_again, 2s);
}

TEST_F(relational_view, what_is_over_is_swept_before_anything_else) {
    auto old = holder(2);
    old.kept_by = bond(2, -1ms);
    const auto next = decided(seen({old, waiter(3, 4)}), wants());
    EXPECT_EQ(next.what, step::sweep);
    ASSERT_EQ(next.over.size(), 1U);
    EXPECT_EQ(next.over[0].nonce, number(2));
    EXPECT_TRUE(next.rubbish.empty());
}

TEST_F(relational_view, waiters_that_are_over_are_swept_too) {
    auto old = fair_waiter(2, 3);
    old.kept_by = bond(2, -1ms);
    const auto next = decided(seen({old}), wants());
    EXPECT_EQ(next.what, step::sweep);
    EXPECT_EQ(next.over.size(), 1U);
}

TEST_F(relational_view, rows_that_nothing_keeps_are_rubbish_also_our_own) {
    auto rubbish = holder(2);
    rubbish.kept_by.reset();
    auto ours = holder(me);
    ours.kept_by.reset();
    const auto next = decided(seen({rubbish, ours}), wants());
    EXPECT_EQ(next.what, step::sweep);
    EXPECT_EQ(next.rubbish.size(), 2U);
    EXPECT_TRUE(next.over.empty());
}

TEST_F(relational_view, a_lock_delay_keeps_others_out_after_the_lease) {
    auto dead = holder(2);
    dead.kept_by = bond(2, -1s);
    dead.kept_by->lock_delay = 3s;
    const auto next = decided(seen({dead}), wants());
    EXPECT_EQ(next.what, step::wait);
    EXPECT_EQ(next.look_again, 2s);
}

TEST_F(relational_view, those_before_us_are_counted) {
    auto v = seen({holder(2)});
    v.ahead = 3;
    EXPECT_EQ(decided(v, wants()).ahead, 4U) << "they, and the holder";
}

// ------------------------------------------------------------------------------- who beside whom

TEST_F(relational_view, readers_are_admitted_beside_readers_only) {
    const auto readers = seen({holder(2, mode::shared), holder(3, mode::shared)});
    EXPECT_EQ(decided(readers, wants(mode::shared)).what, step::admit);
    EXPECT_EQ(decided(readers, wants(mode::exclusive)).what, step::wait);
    EXPECT_EQ(decided(readers, wants(mode::permit)).what, step::wait);
    EXPECT_EQ(decided(seen({holder(2)}), wants(mode::shared)).what, step::wait);
    EXPECT_EQ(decided(seen({holder(2, mode::permit)}), wants(mode::shared)).what, step::wait);
}

TEST_F(relational_view, permits_are_given_up_to_their_number) {
    auto c = wants(mode::permit);
    c.permits = 3;
    std::vector<line_row> rows;
    for (int who = 2; who < 5; ++who) {
        EXPECT_EQ(decided(seen(rows), c).what, step::admit) << who;
        rows.push_back(holder(who, mode::permit));
    }
    EXPECT_EQ(decided(seen(rows), c).what, step::wait);
    EXPECT_EQ(decided(seen({holder(2)}), c).what, step::wait);
    EXPECT_EQ(decided(seen({holder(2, mode::shared)}), c).what, step::wait);
    EXPECT_EQ(decided(seen(rows), wants()).what, step::wait);
}

TEST_F(relational_view, who_reads_under_his_own_write_waits_for_nobody) {
    auto c = wants(mode::shared);
    c.within = number(2);
    EXPECT_EQ(decided(seen({holder(2)}), c).what, step::admit);
    EXPECT_EQ(decided(seen({holder(2), fair_waiter(3, 4)}), c).what, step::admit);
    EXPECT_EQ(decided(seen({holder(2), holder(4, mode::shared)}), c).what, step::admit)
        << "a second read of ours";
    EXPECT_EQ(decided(seen({holder(3)}), c).what, step::wait) << "it is another's write by now";
    EXPECT_EQ(decided(seen({waiter(3, 4)}), c).what, step::wait)
        << "ours is gone, and with it what let us pass";
}

// ------------------------------------------------------------------------------- who before whom

TEST_F(relational_view, plain_ones_overtake_plain_ones) {
    const auto next = decided(seen({waiter(2, 3), waiter(3, 4)}), wants());
    EXPECT_EQ(next.what, step::admit);
    EXPECT_EQ(next.waiters_after, somebody_waits) << "they still do";
    EXPECT_EQ(decided_in_line(seen({waiter(2, 3)}), wants(), 9).what, step::admit);
}

TEST_F(relational_view, nobody_overtakes_fair_ones) {
    for (const auto how : {mode::exclusive, mode::shared, mode::permit})
        for (const auto k : {kind::plain, kind::fair}) {
            const auto line = seen({fair_waiter(2, 3)});
            const auto next = decided(line, wants(how, k));
            EXPECT_EQ(next.what, step::wait);
            ASSERT_TRUE(next.holder);
            EXPECT_EQ(next.holder->host, "host2") << "who is in the way";
            EXPECT_EQ(decided_in_line(line, wants(how, k), 9).what, step::wait);
        }
}

TEST_F(relational_view, those_behind_us_do_not_matter) {
    const auto next =
        decided_in_line(seen({fair_waiter(2, 8), waiter(3, 9, mode::shared)}), wants(), 5);
    EXPECT_EQ(next.what, step::admit);
    EXPECT_EQ(next.waiters_after, somebody_waits | fair_ones_wait);
}

TEST_F(relational_view, readers_do_not_overtake_a_waiting_writer) {
    const auto line = seen({holder(2, mode::shared), waiter(3, 4)});
    EXPECT_EQ(decided(line, wants(mode::shared)).what, step::wait);
    EXPECT_EQ(decided_in_line(line, wants(mode::shared), 9).what, step::wait);
    EXPECT_EQ(decided_in_line(line, wants(mode::shared), 3).what, step::admit) << "we were first";
}

TEST_F(relational_view, of_those_who_wait_our_own_row_is_none) {
    const auto next = decided_in_line(seen({}), wants(mode::exclusive, kind::fair), 3);
    EXPECT_EQ(next.what, step::admit);
    EXPECT_EQ(next.waiters_after, 0) << "we waited, nobody else";
}

[[nodiscard]] std::vector<line_row> a_full_line() {
    std::vector<line_row> rows;
    for (int i = 0; i < waiters_shown; ++i)
        rows.push_back(waiter(10 + i, 10 + i));
    return rows;
}

TEST_F(relational_view, whom_we_do_not_see_may_wait_all_the_same) {
    auto line = seen(a_full_line());
    line.waiters = somebody_waits | fair_ones_wait;
    const auto first = decided_in_line(line, wants(), 5);
    EXPECT_EQ(first.what, step::admit);
    EXPECT_EQ(first.waiters_after, line.waiters) << "what the row says stays";

    line.rows.pop_back();
    EXPECT_EQ(decided(line, wants()).waiters_after, somebody_waits) << "these are all there are";
}

TEST_F(relational_view, fair_ones_whom_we_do_not_see_are_not_overtaken_either) {
    auto line = seen(a_full_line());
    EXPECT_EQ(decided(line, wants()).what, step::admit) << "plain ones, all of them";
    line.waiters |= fair_ones_wait;
    EXPECT_EQ(decided(line, wants()).what, step::wait);
    auto behind = line;
    behind.my_place = 99; // and so our own row is not shown
    EXPECT_EQ(decided(behind, wants()).what, step::wait);
    auto among = line;
    among.my_place = 11;
    among.rows[1] = waiter(me, 11);
    EXPECT_EQ(decided(among, wants()).what, step::admit) << "who comes after us does not matter";
}

// ------------------------------------------------------------------------------- when it is over

class relational_ending : public testing::Test {
protected:
    ending of(const bond_row& b, sql::stealing how, duration after = 0s) {
        return end_of(b, how, server_now, sightings_, began_ + after);
    }
    const instant began_{1000s};
    sightings sightings_;
};

constexpr duration whole = 10s + 10ms + 5ms; // ttl, what clocks may differ by, and a margin

TEST_F(relational_ending, by_the_clock_is_when_the_server_says_so) {
    EXPECT_FALSE(of(bond(2, 1ms), sql::stealing::clock).over);
    EXPECT_EQ(of(bond(2, 1ms), sql::stealing::clock).look_again, 1ms);
    EXPECT_TRUE(of(bond(2, 0ms), sql::stealing::clock).over);
    EXPECT_TRUE(of(bond(2, -1h), sql::stealing::clock).over);
}

TEST_F(relational_ending, by_sight_is_when_it_was_not_renewed_for_its_whole_time) {
    const auto dead_by_clock = bond(2, -1h);
    EXPECT_FALSE(of(dead_by_clock, sql::stealing::observe).over) << "seen for the first time";
    EXPECT_EQ(of(dead_by_clock, sql::stealing::observe, 4s).look_again, whole - 4s);
    EXPECT_FALSE(of(dead_by_clock, sql::stealing::observe, whole - 1ns).over);
    EXPECT_TRUE(of(dead_by_clock, sql::stealing::observe, whole).over);
}

TEST_F(relational_ending, by_sight_does_not_ask_the_servers_clock) {
    const auto alive_by_clock = bond(2, 1h);
    EXPECT_FALSE(of(alive_by_clock, sql::stealing::observe).over);
    EXPECT_TRUE(of(alive_by_clock, sql::stealing::observe, whole).over);
}

TEST_F(relational_ending, by_both_is_when_both_say_so) {
    const auto alive_by_clock = bond(2, 1h), dead_by_clock = bond(3, -1h);
    EXPECT_FALSE(of(dead_by_clock, sql::stealing::both).over);
    EXPECT_EQ(of(dead_by_clock, sql::stealing::both, 1s).look_again, whole - 1s);
    EXPECT_TRUE(of(dead_by_clock, sql::stealing::both, whole).over);
    EXPECT_FALSE(of(alive_by_clock, sql::stealing::both).over);
    EXPECT_FALSE(of(alive_by_clock, sql::stealing::both, whole).over);
    EXPECT_EQ(of(alive_by_clock, sql::stealing::both, whole).look_again, 1h);
}

TEST_F(relational_ending, a_lock_delay_comes_after_either) {
    auto b = bond(2, -1s);
    b.lock_delay = 3s;
    EXPECT_EQ(of(b, sql::stealing::clock).look_again, 2s);
    EXPECT_FALSE(of(b, sql::stealing::observe).over);
    EXPECT_FALSE(of(b, sql::stealing::observe, whole).over);
    EXPECT_TRUE(of(b, sql::stealing::observe, whole + 3s).over);
}

TEST_F(relational_ending, a_renewal_that_was_seen_begins_it_anew) {
    auto b = bond(2, -1h);
    EXPECT_FALSE(of(b, sql::stealing::observe).over);
    ++b.renewals;
    EXPECT_FALSE(of(b, sql::stealing::observe, whole).over);
    EXPECT_FALSE(of(b, sql::stealing::observe, 2 * whole - 1ns).over);
    EXPECT_TRUE(of(b, sql::stealing::observe, 2 * whole).over);
}

TEST_F(relational_ending, each_bond_is_seen_for_itself) {
    EXPECT_FALSE(of(bond(2), sql::stealing::observe).over);
    EXPECT_FALSE(of(bond(3), sql::stealing::observe, whole).over);
    EXPECT_TRUE(of(bond(2), sql::stealing::observe, whole).over);
}

TEST_F(relational_ending, what_was_not_seen_for_long_is_forgotten_when_there_is_much) {
    sightings many;
    for (int i = 0; i < 10'010; ++i)
        EXPECT_EQ(many.seen_for(bond(i), began_), 0s);
    EXPECT_EQ(many.seen_for(bond(7), began_ + 9min), 9min) << "not so soon";
    EXPECT_EQ(many.seen_for(bond(30'000), began_ + 11min), 0s);
    EXPECT_EQ(many.seen_for(bond(8), began_ + 11min), 0s) << "so it is new";
    EXPECT_EQ(many.seen_for(bond(7), began_ + 11min), 11min) << "seen two minutes ago";
}

// ------------------------------------------------------------------------------- reading a view

[[nodiscard]] table row_of(const std::vector<std::optional<std::string>>& cells) {
    table t{21};
    for (const auto& c : cells)
        t.add(c);
    return t;
}

TEST(relational_look, no_row_is_a_name_that_nobody_ever_wanted) {
    EXPECT_FALSE(read_view(table{}).exists);
}

TEST(relational_look, a_row_without_anybody_is_a_name_that_is_free) {
    std::vector<std::optional<std::string>> cells{"17", "5", "3", "1", std::nullopt, "2"};
    cells.resize(21);
    const auto v = read_view(row_of(cells));
    EXPECT_TRUE(v.exists);
    EXPECT_EQ(v.now, 17);
    EXPECT_EQ(v.fence, 5);
    EXPECT_EQ(v.version, 3);
    EXPECT_EQ(v.waiters, 1);
    EXPECT_EQ(v.my_place, 0);
    EXPECT_EQ(v.ahead, 2U);
    EXPECT_TRUE(v.rows.empty());
}

TEST(relational_look, somebody_and_what_keeps_him_are_read) {
    const auto raw = raw_of(number(9));
    const auto v = read_view(
        row_of({"17", "5",  "3",       "3",   "6",       "1",  raw,    "6",    "2",    "4", "1",
                "0",  "77", "2000000", "500", "1900000", "12", "host", "4711", "work", "77"}));
    EXPECT_EQ(v.my_place, 6);
    ASSERT_EQ(v.rows.size(), 1U);
    const auto& r = v.rows[0];
    EXPECT_EQ(r.nonce, number(9));
    EXPECT_EQ(r.place, 6);
    EXPECT_EQ(r.mode, mode::permit);
    EXPECT_EQ(r.permits, 4U);
    EXPECT_TRUE(r.fair);
    EXPECT_EQ(r.bond, 77);
    ASSERT_TRUE(r.kept_by);
    EXPECT_EQ(r.kept_by->id, 77);
    EXPECT_EQ(r.kept_by->ttl, 2s);
    EXPECT_EQ(r.kept_by->lock_delay, 500us);
    EXPECT_EQ(r.kept_by->expires_at, 1'900'000);
    EXPECT_EQ(r.kept_by->renewals, 12);
    EXPECT_EQ(r.kept_by->whose.host, "host");
    EXPECT_EQ(r.kept_by->whose.pid, 4711);
    EXPECT_EQ(r.kept_by->whose.purpose, "work");
}

TEST(relational_look, somebody_whom_nothing_keeps_is_read_so) {
    std::vector<std::optional<std::string>> cells{
        "17", "5", "3", "0", std::nullopt, "0", raw_of(number(9)), "0", "0", "1", "0", "5"};
    cells.resize(20);
    cells.emplace_back("76");
    const auto v = read_view(row_of(cells));
    ASSERT_EQ(v.rows.size(), 1U);
    EXPECT_FALSE(v.rows[0].kept_by);
    EXPECT_EQ(v.rows[0].bond, 76) << "which it was is known all the same";
    EXPECT_EQ(v.rows[0].fence, fence{5});
}

TEST(relational_look, a_nonce_keeps_all_its_bytes) {
    nonce n;
    for (std::size_t i = 0; i < n.bytes.size(); ++i)
        n.bytes[i] = static_cast<unsigned char>(i * 17);
    EXPECT_EQ(nonce_from(raw_of(n)), n);
    EXPECT_EQ(raw_of(n).size(), 16U);
}

} // namespace
} // namespace holdfast::relational::test
