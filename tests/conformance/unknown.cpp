// No answer is an answer: what a client believes when requests or replies get lost on the way.

#include "conformance/engine.hpp"
#include "conformance/events.hpp"
#include "conformance/faulty_line.hpp"
#include "conformance/undisturbed.hpp"

#include <holdfast/mutex.hpp>

namespace holdfast::conformance {
namespace {

HOLDFAST_SUITE(unknown_conformance, nothing);
HOLDFAST_SUITE(unknown_ending_conformance, ends_by_time);

constexpr auto long_ttl = 10min; // much longer than our patience: nothing ends by itself

// A client whose line can be cut, and somebody else whose line is good.
struct cut_off {
    explicit cut_off(place& where)
        : ours{std::make_unique<faulty_line>(where.connect(), line), {.observer = log}},
          theirs{where.open()} {}

    std::shared_ptr<fault_switch> line = std::make_shared<fault_switch>();
    std::shared_ptr<chronicle> log = std::make_shared<chronicle>();
    client ours, theirs;

    /// A doubt is about a bond: with a name if that is one lock's, without if it is of many.
    [[nodiscard]] int doubts(const std::string& name) const {
        return log->times(event::kind::in_doubt, name) + log->times(event::kind::in_doubt, "");
    }
};

TEST_P(unknown_conformance, an_acquire_without_an_answer_is_asked_again_and_granted_once) {
    cut_off c{here()};
    c.line->set(fault::deaf);
    auto waiter = in_a_thread([&] { return mutex{c.ours, "orders/42"}.acquire(); });
    ASSERT_TRUE(c.log->saw(event::kind::unknown, "orders/42"));
    EXPECT_FALSE((mutex{c.theirs, "orders/42"}.try_acquire())) << "it was granted, unheard";
    c.line->set(fault::none);
    const auto lease = outcome(waiter);
    EXPECT_TRUE(lease.held());
    const auto seen = c.theirs.inspect("orders/42").at(0);
    ASSERT_EQ(seen.holders.size(), 1U) << "the same claim, asked twice, is the same claim";
    EXPECT_EQ(seen.holders[0].fence, lease.fence());
}

TEST_P(unknown_conformance, a_try_without_an_answer_fails_and_is_taken_back) {
    cut_off c{here()};
    mutex ours{c.ours, "orders/42"};
    c.line->set(fault::deaf);
    EXPECT_EQ(error_of([&] { (void)ours.try_acquire({.ttl = long_ttl}); }),
              code(errc::outcome_unknown));
    c.line->set(fault::none);
    EXPECT_TRUE((mutex{c.theirs, "orders/42"}.try_acquire_for(patience)));
}

TEST_P(unknown_conformance, a_wait_that_ends_without_an_answer_is_taken_back) {
    cut_off c{here()};
    mutex ours{c.ours, "orders/42"};
    c.line->set(fault::deaf);
    EXPECT_EQ(error_of([&] { (void)ours.acquire({.wait = 100ms, .ttl = long_ttl}); }),
              code(errc::outcome_unknown));
    c.line->set(fault::none);
    EXPECT_TRUE((mutex{c.theirs, "orders/42"}.try_acquire_for(patience)));
    EXPECT_TRUE(eventually([&] { return c.theirs.inspect().empty(); }));
}

TEST_P(unknown_conformance, a_release_without_an_answer_ends_our_hold_all_the_same) {
    cut_off c{here()};
    auto lease = mutex{c.ours, "orders/42"}.acquire({.ttl = long_ttl});
    c.line->set(fault::deaf);
    EXPECT_EQ(lease.release(), release_result::unknown);
    EXPECT_FALSE(lease.held());
    EXPECT_TRUE((mutex{c.theirs, "orders/42"}.try_acquire_for(patience)));
}

TEST_P(unknown_conformance, a_release_that_did_not_arrive_is_sent_again) {
    cut_off c{here()};
    auto lease = mutex{c.ours, "orders/42"}.acquire({.ttl = long_ttl});
    c.line->set(fault::away);
    EXPECT_EQ(lease.release(), release_result::unknown);
    EXPECT_FALSE((mutex{c.theirs, "orders/42"}.try_acquire()));
    c.line->set(fault::none);
    EXPECT_TRUE((mutex{c.theirs, "orders/42"}.try_acquire_for(patience)));
}

TEST_P(unknown_ending_conformance, a_release_that_arrives_late_takes_nothing_from_the_next_holder) {
    cut_off c{here()};
    auto lease = mutex{c.ours, "orders/42"}.acquire({.ttl = 500ms, .renew = false});
    c.line->set(fault::away);
    EXPECT_EQ(lease.release(), release_result::unknown);
    const auto next = mutex{c.theirs, "orders/42"}.try_acquire_for(patience, {.ttl = long_ttl});
    ASSERT_TRUE(next);
    c.line->set(fault::none);
    c.ours.close(); // whatever it still wanted to say has been said
    EXPECT_TRUE(next->held());
    EXPECT_FALSE((mutex{here().open(), "orders/42"}.try_acquire()));
}

// What one process renews may live on one bond: a row that was not taken back is kept alive by
// others.
TEST_P(unknown_conformance, what_could_not_be_taken_back_for_a_ttl_does_not_stay_for_ever) {
    cut_off c{here()};
    constexpr auto ttl = 300ms;
    const auto other = mutex{c.ours, "orders/1"}.acquire({.ttl = ttl});
    auto theirs = mutex{c.theirs, "orders/42"}.acquire();
    c.line->set(fault::clingy);
    const auto asked = boot_clock::now();
    EXPECT_FALSE((mutex{c.ours, "orders/42"}.try_acquire_for(a_while, {.ttl = ttl})));
    { const auto dropped = mutex{c.ours, "orders/43"}.acquire({.ttl = ttl}); }
    ASSERT_TRUE(eventually([&] { return boot_clock::now() > asked + 4 * ttl; }));
    c.line->set(fault::none);
    EXPECT_EQ(theirs.release(), release_result::released);
    EXPECT_TRUE((mutex{c.theirs, "orders/42"}.try_acquire_for(patience)));
    EXPECT_TRUE((mutex{c.theirs, "orders/43"}.try_acquire_for(patience)));
}

TEST_P(unknown_conformance, a_renewal_without_an_answer_leaves_the_deadline_where_it_was) {
    cut_off c{here()};
    EXPECT_TRUE(undisturbed(250ms, [&] {
        happening lost;
        c.line->set(fault::none);
        auto lease = mutex{c.ours, "orders/42"}.acquire({.wait = patience, .ttl = 1s});
        c.line->set(fault::deaf);
        const auto deadline = lease.deadline();
        const auto before = c.doubts("orders/42");
        lease.on_lost([&] { lost.happen(); });
        EXPECT_TRUE(lost.awaited());
        EXPECT_GE(boot_clock::now(), deadline) << "and not a moment before";
        EXPECT_EQ(lease.deadline(), deadline);
        EXPECT_FALSE(lease.held());
        return c.doubts("orders/42") > before;
    })) << "nobody was told that it was in doubt";
}

TEST_P(unknown_conformance, an_outage_shorter_than_the_lease_is_survived) {
    cut_off c{here()};
    EXPECT_TRUE(undisturbed(500ms, [&] {
        const auto lease = mutex{c.ours, "orders/42"}.acquire({.wait = patience, .ttl = 3s});
        const auto deadline = lease.deadline();
        const auto before = c.doubts("orders/42");
        c.line->set(fault::away);
        EXPECT_TRUE(eventually([&] { return c.doubts("orders/42") > before; }));
        const bool in_doubt_and_ours = lease.held();
        c.line->set(fault::none);
        EXPECT_TRUE(eventually([&] { return lease.deadline() > deadline || lease.lost(); }));
        return in_doubt_and_ours && lease.held() && !lease.stop_token().stop_requested();
    }));
}

} // namespace
} // namespace holdfast::conformance
