// The answer to a statement is lost, and nobody knows whether it was carried out: whoever asked is
// told in time, nothing stays behind, fences only grow, and two never hold at once.
//
//   ours ── gate ──▶ server ◀── others, and the test itself

#include "gate/sql_counter.hpp"

#include <holdfast/semaphore.hpp>
#include <holdfast/shared_mutex.hpp>

#include <random>

namespace holdfast::servers {
namespace {

using conformance::code;
using conformance::error_of;

/// A kind of statement, and bytes by which a gate knows it: on PostgreSQL what it is called when it
/// is executed, on MySQL words of its text.
struct spoken {
    const char* what;
    std::string by_name, by_text;

    [[nodiscard]] const std::string& on(const sql_engine& one) const {
        return one.dialect == sql::dialect::postgres ? by_name : by_text;
    }
};

[[nodiscard]] std::string executed(const std::string& name) { return "holdfast_" + name + '\0'; }

const spoken bond{"bond", "INSERT INTO holdfast_bond", "INSERT INTO holdfast_bond"};
const spoken take{"take", executed("take"), "INSERT INTO holdfast_lock"};
const spoken retake{"retake", executed("retake"), "SET fence = LAST_INSERT_ID("}; // of a known row
const spoken take_beside{"take beside", executed("take_beside"), "waiters = 0 AND permits < "};
const spoken place{"place", executed("join"), "INSERT IGNORE INTO holdfast_line"};
const spoken look{"look", executed("look"), "WITH n AS ("};
const spoken admit{"admit", executed("admit"), "SET fence = GREATEST("};
const spoken admit_beside{"admit beside", "waiters = $7", "ON DUPLICATE KEY UPDATE place = 0"};
const spoken leave{"leave", executed("leave"), "UPDATE holdfast_lock l JOIN holdfast_line"};
const spoken gives_back{"release", executed("release"), "nonce = NULL WHERE name"};
const spoken gives_back_unwanted{
    "release of what nobody waits for", executed("release_unwanted"), "nonce = NULL WHERE name"};
const spoken renews{"renew", "WHERE id = ANY($1) RETURNING", "renewals + 1 WHERE id IN ("};

constexpr last_bytes fates[] = {last_bytes::lost, last_bytes::delivered};

// Long enough that nothing in these tests happens because it has passed.
constexpr acquire_options once{.ttl = 10min};
constexpr acquire_options with_patience{.wait = patience, .ttl = 10min};

class sql_answers_lost : public sql_at_fault {
protected:
    void set_up() override {
        start();
        way.emplace(server->process().port());
        ours.emplace(open(server->url_by(way->address())));
        others.emplace(open_ours());
        for (const auto* each : {&*ours, &*others}) // from here on there are tables, and a bond
            (void)mutex{*each, "warm"}.acquire(with_patience).release();
    }
    // They say goodbye to a server that is there.
    void TearDown() override { ours.reset(), others.reset(); }

    void lose(const spoken& what, last_bytes fate = last_bytes::delivered) {
        way->cut_at(direction::to_server, what.on(GetParam()), fate);
    }
    [[nodiscard]] bool is_lost(std::size_t before) const {
        return eventually([&] { return way->cuts() > before; });
    }

    [[nodiscard]] std::int64_t last_fence(const std::string& name) const {
        return server->number("SELECT fence FROM holdfast_lock WHERE name = '" + name + "'");
    }
    [[nodiscard]] std::int64_t rows_of_holders() const {
        return server->number("SELECT count(*) FROM holdfast_lock"
                              " WHERE nonce IS NOT NULL OR shared <> 0 OR permits <> 0");
    }
    [[nodiscard]] std::int64_t places() const {
        return server->number("SELECT count(*) FROM holdfast_line");
    }
    [[nodiscard]] bool nothing_is_left() const {
        return eventually([&] { return rows_of_holders() == 0 && places() == 0; });
    }

    /// So that one row is there, and the next who comes finds it free.
    void make_row(const std::string& name) const {
        (void)mutex{*others, name}.acquire(with_patience).release();
    }

    std::optional<gate> way;
    std::optional<client> ours, others;
};
HOLDFAST_ON_BOTH(sql_answers_lost);

TEST_P(sql_answers_lost, who_asked_once_does_not_hold_and_leaves_nothing) {
    make_row("orders");
    const auto lost_with = [&](const spoken& what, auto ask) {
        const auto fence = last_fence("orders");
        const auto cuts = way->cuts();
        lose(what);
        auto asked = in_a_thread([&] { return error_of(ask); });
        EXPECT_EQ(outcome(asked), code(errc::outcome_unknown)) << what.what;
        EXPECT_EQ(way->cuts(), cuts + 1) << what.what;
        const auto next = mutex{*others, "orders"}.try_acquire_for(patience, with_patience);
        ASSERT_TRUE(next) << what.what << " is not taken back";
        EXPECT_GT(next->fence().value(), fence) << promise_broken << what.what;
        EXPECT_EQ(rows_of_holders(), 1) << promise_broken << what.what;
    };
    mutex door{*ours, "orders"};
    shared_mutex book{*ours, "orders"};
    lost_with(take, [&] { (void)door.try_acquire(once); });
    lost_with(bond, [&] { (void)door.try_acquire({.ttl = 11min}); }); // none of ours yet
    lost_with(bond, [&] { (void)door.try_acquire({.ttl = 10min, .renew = false}); });
    lost_with(take, [&] { (void)book.try_acquire(once); });
    lost_with(take_beside, [&] { (void)book.try_acquire_shared(once); });
    lost_with(take_beside, [&] { (void)semaphore{*ours, "orders", 2}.try_acquire(once); });
    const auto fairly = [&] {
        auto fair = once;
        fair.order = queueing::fair;
        (void)door.try_acquire(fair);
    };
    lost_with(take, fairly);
    (void)door.acquire(with_patience).release(); // from here on its row is known
    lost_with(retake, [&] { (void)door.try_acquire(once); });
    lost_with(retake, fairly);
    EXPECT_TRUE(nothing_is_left());
}

TEST_P(sql_answers_lost, who_waits_gets_what_was_granted_with_one_fence) {
    for (const auto fate : fates)
        for (const auto order : {queueing::plain, queueing::fair}) {
            auto how = with_patience;
            how.order = order;
            const auto name = "orders/" + std::to_string(way->cuts());
            for (const auto* what : {&take, &retake}) {
                const auto cuts = way->cuts();
                lose(*what, fate);
                const auto held = mutex{*ours, name}.acquire(how);
                EXPECT_EQ(way->cuts(), cuts + 1) << what->what;
                EXPECT_TRUE(held.held());
                EXPECT_EQ(last_fence(name), held.fence().value()) << "granted twice";
                EXPECT_FALSE((mutex{*others, name}.try_acquire())) << promise_broken;
            }
        }
    EXPECT_TRUE(nothing_is_left());
}

TEST_P(sql_answers_lost, who_shares_it_counts_once) {
    make_row("orders");
    shared_mutex book{*ours, "orders"};
    for (const auto fate : fates) {
        for (const auto* what : {&take_beside, &admit_beside}) {
            const bool is_new = what == &admit_beside; // the row is to be made
            const std::string name = is_new ? fate == last_bytes::lost ? "a" : "b" : "orders";
            const auto cuts = way->cuts();
            lose(*what, fate);
            auto held = shared_mutex{*ours, name}.acquire_shared(with_patience);
            EXPECT_EQ(way->cuts(), cuts + 1) << what->what;
            EXPECT_EQ(
                server->number("SELECT shared FROM holdfast_lock WHERE name = '" + name + "'"), 1)
                << what->what;
            EXPECT_FALSE((mutex{*others, name}.try_acquire())) << promise_broken << what->what;
            EXPECT_EQ(held.release(), release_result::released);
        }
        lose(take_beside, fate);
        auto ticket = semaphore{*ours, "orders", 3}.acquire(with_patience);
        EXPECT_EQ(server->number("SELECT permits FROM holdfast_lock WHERE name = 'orders'"), 1);
        EXPECT_EQ(ticket.release(), release_result::released);
    }
    EXPECT_TRUE(nothing_is_left());
}

// Which of these is the first to be asked differs; each is asked until it is answered.
TEST_P(sql_answers_lost, who_stands_in_line_keeps_his_place) {
    for (const auto fate : fates)
        for (const auto* what : {&place, &look, &admit})
            for (const auto order : {queueing::plain, queueing::fair}) {
                auto before = mutex{*others, "orders"}.acquire(with_patience);
                const auto fence = before.fence();
                const auto cuts = way->cuts();
                lose(*what, fate);
                auto waiter = in_a_thread([&] {
                    auto how = with_patience;
                    how.order = order;
                    return mutex{*ours, "orders"}.acquire(how);
                });
                ASSERT_TRUE(eventually([&] { return places() == 1; })) << what->what;
                if (what != &admit) {
                    EXPECT_TRUE(is_lost(cuts)) << what->what;
                }
                EXPECT_EQ(places(), 1) << what->what;
                EXPECT_EQ(before.release(), release_result::released);
                auto held = outcome(waiter);
                EXPECT_TRUE(is_lost(cuts)) << what->what;
                EXPECT_GT(held.fence(), fence) << promise_broken << what->what;
                EXPECT_EQ(last_fence("orders"), held.fence().value()) << "granted twice";
                EXPECT_FALSE((mutex{*others, "orders"}.try_acquire())) << promise_broken;
                EXPECT_EQ(held.release(), release_result::released);
            }
    EXPECT_TRUE(nothing_is_left());
}

TEST_P(sql_answers_lost, who_gives_up_waiting_leaves_no_place) {
    const auto held = mutex{*others, "orders"}.acquire(with_patience);
    for (const auto* what : {&place, &look, &leave}) {
        const auto cuts = way->cuts();
        lose(*what);
        auto waiter = in_a_thread([&] {
            try {
                return mutex{*ours, "orders"}.try_acquire_for(300ms, once).has_value();
            } catch (const std::system_error& e) {
                EXPECT_EQ(e.code(), condition::try_again) << e.what();
                return false;
            }
        });
        EXPECT_FALSE(outcome(waiter)) << promise_broken << what->what;
        EXPECT_TRUE(is_lost(cuts)) << what->what;
        EXPECT_TRUE(eventually([&] { return places() == 0; })) << what->what;
    }
    EXPECT_TRUE(held.held());
    EXPECT_EQ(last_fence("orders"), held.fence().value());
}

TEST_P(sql_answers_lost, a_lease_is_renewed_all_the_same) {
    const auto held = mutex{*ours, "orders"}.acquire({.wait = patience, .ttl = 6s});
    const auto renewals = [&] {
        return server->number("SELECT b.renewals FROM holdfast_lock l JOIN holdfast_bond b"
                              " ON b.id = l.bond WHERE l.name = 'orders'");
    };
    for (const auto fate : fates) {
        const auto cuts = way->cuts();
        lose(renews, fate);
        EXPECT_TRUE(is_lost(cuts));
        const auto before = renewals();
        EXPECT_TRUE(eventually([&] { return renewals() >= before + 2; }));
        EXPECT_TRUE(held.held());
    }
    EXPECT_EQ(last_fence("orders"), held.fence().value());
}

TEST_P(sql_answers_lost, a_release_is_repeated) {
    for (const auto fate : fates) {
        for (const bool renewed : {true, false}) { // with a bond that is shared, and with one alone
            auto how = with_patience;
            how.renew = renewed;
            auto held = mutex{*ours, "orders"}.acquire(how);
            const auto cuts = way->cuts();
            lose(renewed ? gives_back_unwanted : gives_back, fate);
            EXPECT_EQ(held.release(), release_result::unknown);
            EXPECT_EQ(way->cuts(), cuts + 1);
            EXPECT_TRUE(nothing_is_left());
        }
        auto held = shared_mutex{*ours, "orders"}.acquire_shared(with_patience);
        lose(leave, fate);
        EXPECT_EQ(held.release(), release_result::unknown);
        EXPECT_TRUE(nothing_is_left());
        { // its release goes ahead of nothing, and nobody waits for its answer
            const auto dropped = mutex{*ours, "orders"}.acquire(with_patience);
            lose(gives_back_unwanted, fate);
        }
        EXPECT_TRUE(nothing_is_left());
    }
    EXPECT_EQ(way->cuts(), 8U);
}

TEST_P(sql_answers_lost, who_is_next_comes_although_the_one_before_was_not_answered) {
    for (const auto fate : fates) {
        auto held = mutex{*ours, "orders"}.acquire(with_patience);
        const auto fence = held.fence();
        auto waiter = in_a_thread([&] { return mutex{*others, "orders"}.acquire(with_patience); });
        ASSERT_TRUE(eventually([&] { return places() == 1; }));
        lose(gives_back, fate);
        EXPECT_EQ(held.release(), release_result::unknown);
        EXPECT_GT(outcome(waiter).fence(), fence) << promise_broken;
    }
    EXPECT_TRUE(nothing_is_left());
}

// Whoever asks again may have another bond by then: what was granted to him is kept by that one.
TEST_P(sql_answers_lost, what_was_granted_is_kept_by_the_bond_of_who_asks_again) {
    constexpr acquire_options shortly{.wait = patience, .ttl = 2s};
    (void)mutex{*ours, "retaken"}.acquire(shortly).release();
    for (const auto* const what : {&take, &retake}) {
        const std::string name = what == &take ? "taken" : "retaken";
        const auto beside_it = mutex{*ours, "beside it"}.acquire(shortly); // on the same bond
        const auto cuts = way->cuts();
        lose(*what);
        way->refuse();
        auto asked = in_a_thread([&] { return mutex{*ours, name}.acquire(shortly); });
        EXPECT_TRUE(is_lost(cuts));
        way->cut();
        EXPECT_TRUE(eventually([&] { return !beside_it.held(); }));
        server->sql("DELETE FROM holdfast_bond"); // as who waits for something else may do
        way->admit();
        const auto held = outcome(asked);
        EXPECT_EQ(last_fence(name), held.fence().value());
        EXPECT_EQ(server->number("SELECT count(*) FROM holdfast_lock l JOIN holdfast_bond b"
                                 " ON b.id = l.bond WHERE l.name = '" +
                                 name + "'"),
                  1)
            << promise_broken << what->what << ": nobody keeps it";
        EXPECT_FALSE((mutex{*others, name}.try_acquire())) << promise_broken << what->what;
    }
}

// Who clears away what nobody keeps has looked before: meanwhile somebody may keep it again.
TEST_P(sql_answers_lost, what_is_kept_again_is_not_cleared_away) {
    const auto held = mutex{*others, "orders"}.acquire(with_patience);
    auto waiter = in_a_thread([&] {
        return mutex{*ours, "orders"}
            .try_acquire_for(5s, {.ttl = 2s, .order = queueing::fair})
            .has_value();
    });
    ASSERT_TRUE(eventually([&] { return places() == 1; }));
    const auto keeper = server->number("SELECT bond FROM holdfast_lock WHERE name = 'orders'");
    const auto id = std::to_string(keeper), next = std::to_string(keeper + 1);
    const auto other = server->connect();
    other->ask("BEGIN");
    other->ask("SELECT fence FROM holdfast_lock WHERE name = 'orders' FOR UPDATE");
    server->sql("INSERT INTO holdfast_bond SELECT " + next +
                ", client, ttl, lock_delay, expires_at, renewals, bell, host, pid, purpose"
                " FROM holdfast_bond WHERE id = " +
                id);
    server->sql("DELETE FROM holdfast_bond WHERE id = " + id);
    EXPECT_TRUE(eventually([&] { return server->somebody_waits_for_a_row(); })) << "to clear it";
    other->ask("UPDATE holdfast_lock SET bond = " + next + " WHERE name = 'orders'");
    other->ask("COMMIT");
    EXPECT_FALSE(outcome(waiter)) << promise_broken;
    EXPECT_EQ(last_fence("orders"), held.fence().value());
    EXPECT_EQ(rows_of_holders(), 1) << promise_broken;
}

TEST_P(sql_answers_lost, who_gives_back_what_he_has_not_is_told_so) {
    for (const bool renewed : {true, false}) {
        auto how = with_patience;
        how.renew = renewed;
        auto held = mutex{*ours, "orders"}.acquire(how);
        server->sql("UPDATE holdfast_lock SET nonce = NULL WHERE name = 'orders'");
        EXPECT_EQ(held.release(), release_result::lost) << renewed;
    }
}

TEST_P(sql_answers_lost, silence_is_no_answer_either) {
    make_row("orders");
    const auto fence = last_fence("orders");
    way->drop(direction::to_client);
    auto asked = in_a_thread([&] {
        return error_of([&] { (void)mutex{*ours, "orders"}.try_acquire_for(300ms, once); });
    });
    EXPECT_EQ(outcome(asked), code(errc::outcome_unknown));
    way->pass(direction::to_client);
    const auto next = mutex{*others, "orders"}.try_acquire_for(patience, with_patience);
    ASSERT_TRUE(next) << "what was granted in silence is not taken back";
    EXPECT_GT(next->fence().value(), fence) << promise_broken;
}

TEST_P(sql_answers_lost, a_request_that_comes_late_is_taken_back) {
    make_row("orders");
    const auto fence = last_fence("orders");
    way->hold(direction::to_server, 0); // where all requests went until now
    auto asked = in_a_thread([&] {
        return error_of([&] { (void)mutex{*ours, "orders"}.try_acquire_for(300ms, once); });
    });
    EXPECT_EQ(outcome(asked), code(errc::outcome_unknown));
    EXPECT_EQ(last_fence("orders"), fence) << "it came too early";
    way->pass(direction::to_server, 0);
    EXPECT_TRUE(eventually([&] { return last_fence("orders") > fence; })) << "it never came";
    EXPECT_TRUE(nothing_is_left()) << "nobody knows of this lock";
    EXPECT_TRUE((mutex{*others, "orders"}.try_acquire_for(patience)));
}

TEST_P(sql_answers_lost, so_is_one_that_comes_after_its_repetition) {
    (void)mutex{*ours, "orders"}.acquire(with_patience).release(); // it is the smaller statement
    way->hold(direction::to_server, 0);
    auto held = mutex{*ours, "orders"}.acquire({.wait = patience, .ttl = 10min});
    const auto fence = last_fence("orders");
    EXPECT_EQ(fence, held.fence().value());
    EXPECT_EQ(held.release(), release_result::released);
    way->pass(direction::to_server, 0);
    EXPECT_TRUE(eventually([&] { return last_fence("orders") > fence; })) << "it never came";
    EXPECT_TRUE(nothing_is_left()) << "nobody knows of this lock";
}

// The server goes on with what it was sent when nobody is there any more to be answered.
TEST_P(sql_answers_lost, what_is_done_for_a_client_that_is_gone_is_done_as_a_whole) {
    make_row("seats");
    const auto other = server->connect();
    other->ask("BEGIN");
    other->ask("SELECT fence FROM holdfast_lock WHERE name = 'seats' FOR UPDATE");
    auto asked = in_a_thread([&] {
        return error_of([&] { (void)semaphore{*ours, "seats", 2}.try_acquire(once); });
    });
    ASSERT_TRUE(eventually([&] { return server->somebody_waits_for_a_row(); }));
    way->refuse();
    way->cut();
    other->ask("ROLLBACK");
    EXPECT_NE(outcome(asked), error_code{});
    EXPECT_TRUE(eventually([&] { return !server->somebody_waits_for_a_row(); }));
    EXPECT_EQ(server->number("SELECT count(*) FROM holdfast_lock l WHERE permits <> (SELECT"
                             " count(*) FROM holdfast_line n WHERE n.name = l.name"
                             " AND n.place = 0)"),
              0)
        << promise_broken;
    way->admit();
    EXPECT_TRUE(nothing_is_left());
}

// Moments are counted in bytes, so that they lie anywhere in a statement or in its answer.
TEST_P(sql_answers_lost, a_count_is_exact_wherever_the_way_is_cut) {
    const auto seed = ::testing::UnitTest::GetInstance()->random_seed();
    SCOPED_TRACE("--gtest_random_seed=" + std::to_string(seed));
    std::mt19937 chance{static_cast<std::mt19937::result_type>(seed)};
    const auto below = [&](unsigned n) { return chance() % n; };
    sql_counter counter{*server};
    crowd all{server->url_by(way->address()), counter, 10s};
    for (int i = 0; i < 200; ++i) {
        const auto cuts = way->cuts();
        const auto whose = below(2) == 0 ? direction::to_server : direction::to_client;
        const auto how = below(2) == 0 ? ending::closed : ending::reset;
        way->cut_after(whose, 1 + below(3000), how);
        ASSERT_TRUE(is_lost(cuts));
        way->cut_after(whose, std::numeric_limits<std::uint64_t>::max(), how);
        if (i % 20 == 19) {
            EXPECT_TRUE(counter.goes_on());
        }
    }
    all.end();
    counter.expect_that_each_counted_once();
}

} // namespace
} // namespace holdfast::servers
