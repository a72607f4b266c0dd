// The machine, move by move: what it asks of which member, and when it makes up its mind.

#include "quorum/machine.hpp"
#include "lease/validity.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

namespace holdfast::quorum {
namespace {

using namespace std::chrono_literals;

struct counting_chance final : detail::random_source {
    std::uint64_t next() override { return ++last * 0x9e3779b97f4a7c15; }
    std::uint64_t last = 0;
};

/// A machine, and members whose answers the test gives by hand.
class table : public testing::Test {
protected:
    explicit table(const rules& r = {.members = 3, .needed = 2}) : m{r, chance} {}

    counting_chance chance;
    machine m;
    instant now{1000s};
    actions out;
    std::uint64_t tickets = 1'000'000;

    std::shared_ptr<const claim> wanted = [] {
        auto c = std::make_shared<claim>();
        c->name = "a";
        c->ttl = 10s;
        c->nonce.bytes[0] = 7;
        return c;
    }();

    call ask() { return {ticket{++tickets}, now, now + 1s}; }
    void attempt(joining join = joining::none) { m.attempt(ask(), wanted, join, now, out); }

    /// The last thing of this kind that was asked of a member; it is taken off.
    template <class Ask> std::optional<Ask> take_asked(member of) {
        for (auto it = out.rbegin(); it != out.rend(); ++it)
            if (auto* a = std::get_if<Ask>(&*it); a != nullptr && a->of == of) {
                auto found = *a;
                out.erase(std::next(it).base());
                return found;
            }
        return std::nullopt;
    }
    template <class Say> std::optional<Say> take_said() {
        for (auto it = out.begin(); it != out.end(); ++it)
            if (auto* a = std::get_if<Say>(&*it)) {
                auto found = *a;
                out.erase(it);
                return found;
            }
        return std::nullopt;
    }
    template <class Ask> std::size_t count() const {
        return static_cast<std::size_t>(std::count_if(out.begin(), out.end(), [](const action& a) {
            return std::holds_alternative<Ask>(a);
        }));
    }

    void grants(member of, std::int64_t number) {
        const auto asked = take_asked<ask_attempt>(of);
        ASSERT_TRUE(asked);
        m.attempted(asked->call.ticket,
                    grant{asked->what->nonce,
                          fence{number},
                          0,
                          {bond_id{of + 100}, asked->call.asked, wanted->ttl, {}},
                          {}},
                    now,
                    out);
    }
    void refuses(member of) {
        const auto asked = take_asked<ask_attempt>(of);
        ASSERT_TRUE(asked);
        m.attempted(asked->call.ticket, contended{5s, std::nullopt, 0, {}}, now, out);
    }
    void is_silent(member of) {
        const auto asked = take_asked<ask_attempt>(of);
        ASSERT_TRUE(asked);
        m.attempted(asked->call.ticket,
                    failure{errc::backend_unavailable, applied::maybe, "no answer"},
                    now,
                    out);
    }
    void raises(member of, holdfast::raised how = holdfast::raised::yes) {
        const auto asked = take_asked<ask_raise>(of);
        ASSERT_TRUE(asked);
        m.raised(asked->call.ticket, how, now, out);
    }
    void renews(member of, holdfast::renewed how) {
        const auto asked = take_asked<ask_renew>(of);
        ASSERT_TRUE(asked);
        std::vector<renewal_answer> answers;
        for (const auto b : asked->bonds)
            answers.push_back({b, how, {b, asked->call.asked, wanted->ttl, {}}});
        m.renewed(asked->call.ticket, answers, now, out);
    }
    grant granted() {
        const auto said = take_said<say_attempted>();
        EXPECT_TRUE(said);
        const auto* yes = said ? std::get_if<grant>(&said->answer) : nullptr;
        EXPECT_NE(yes, nullptr);
        return yes != nullptr ? *yes : grant{};
    }
    /// By the first two members, with the same fence.
    grant held() {
        attempt();
        grants(0, 41);
        grants(1, 41);
        return granted();
    }
};

class quorum_machine : public table {};

TEST_F(quorum_machine, asks_all_members_at_once_with_one_nonce_and_never_joins_their_queues) {
    attempt(joining::queue);
    ASSERT_EQ(count<ask_attempt>(), 3U);
    const auto first = std::get<ask_attempt>(out[0]);
    for (const auto& one : out) {
        EXPECT_EQ(std::get<ask_attempt>(one).what->nonce, first.what->nonce);
        EXPECT_EQ(std::get<ask_attempt>(one).join, joining::none);
    }
}

TEST_F(quorum_machine, a_majority_is_enough_and_the_rest_is_not_waited_for) {
    const auto asked = now;
    attempt();
    grants(0, 41);
    EXPECT_FALSE(take_said<say_attempted>());
    now += 3ms;
    grants(2, 41);
    const auto given = granted();
    EXPECT_EQ(given.fence, fence{41});
    EXPECT_EQ(given.reserved, 0U);
    EXPECT_EQ(given.nonce, wanted->nonce);
    EXPECT_EQ(given.terms.anchor, asked) << "counted from before the first request";
}

TEST_F(quorum_machine, beside_one_that_is_away_the_others_say_that_it_is_contended) {
    attempt();
    is_silent(0);
    refuses(1);
    EXPECT_FALSE(take_said<say_attempted>()) << "the third may say no, too";
    refuses(2);
    const auto said = take_said<say_attempted>();
    ASSERT_TRUE(said);
    EXPECT_TRUE(std::holds_alternative<contended>(said->answer));
}

TEST_F(quorum_machine, the_last_one_is_not_waited_for_beyond_the_round) {
    attempt();
    is_silent(0);
    refuses(1);
    now += 1s;
    m.on_time(now, out);
    const auto said = take_said<say_attempted>();
    ASSERT_TRUE(said);
    EXPECT_TRUE(std::holds_alternative<failure>(said->answer)) << "one of three is no quorum";
}

TEST_F(quorum_machine, a_fence_is_valid_when_a_quorum_has_taken_it) {
    attempt();
    grants(0, 41);
    grants(1, 57);
    EXPECT_FALSE(take_said<say_attempted>());
    EXPECT_FALSE(take_asked<ask_raise>(1)) << "has it already";
    raises(0);
    EXPECT_EQ(granted().fence, fence{57});
}

TEST_F(quorum_machine, who_comes_late_is_raised_before_it_counts) {
    attempt();
    grants(0, 57);
    grants(1, 57);
    const auto given = granted();
    grants(2, 12);
    const auto late = take_asked<ask_raise>(2);
    ASSERT_TRUE(late);
    EXPECT_EQ(late->least, fence{57});

    // Members 0 and 2 renew, 1 is lost: not enough, as long as 2 has not taken the fence.
    m.renew(ask(), std::array{given.terms.bond}, now, out);
    renews(0, renewed::yes);
    renews(2, renewed::yes);
    renews(1, renewed::lost);
    EXPECT_EQ(take_said<say_renewed>()->answers[0].outcome, renewed::unknown);
    m.raised(late->call.ticket, raised::yes, now, out);
    m.renew(ask(), std::array{given.terms.bond}, now, out);
    renews(0, renewed::yes);
    renews(2, renewed::yes);
    EXPECT_EQ(take_said<say_renewed>()->answers[0].outcome, renewed::yes);
}

TEST_F(quorum_machine, a_minority_is_taken_back_everywhere_before_it_is_told) {
    attempt();
    grants(0, 41);
    refuses(1);
    refuses(2);
    ASSERT_FALSE(out.empty());
    EXPECT_TRUE(std::holds_alternative<ask_withdraw>(out.front()));
    const auto told = take_said<say_attempted>();
    ASSERT_TRUE(told);
    EXPECT_TRUE(std::holds_alternative<contended>(told->answer));
}

TEST_F(quorum_machine, what_was_not_answered_may_be_there_and_is_taken_back_too) {
    attempt();
    grants(0, 41);
    is_silent(1);
    refuses(2);
    EXPECT_TRUE(take_asked<ask_withdraw>(0));
    const auto unknown = take_asked<ask_withdraw>(1);
    ASSERT_TRUE(unknown);
    EXPECT_FALSE(take_asked<ask_withdraw>(2)) << "said no";

    m.withdrawn(unknown->call.ticket, applied::maybe, now, out);
    EXPECT_FALSE(take_asked<ask_withdraw>(1));
    now += 1s;
    m.on_time(now, out);
    EXPECT_TRUE(take_asked<ask_withdraw>(1)) << "until it is certain";
}

TEST_F(quorum_machine, what_may_have_come_late_is_taken_back_even_if_its_time_is_over) {
    const auto given = held(); // the third has not answered
    now += 20s;
    m.forget(given.terms.bond, now, out);
    EXPECT_FALSE(take_asked<ask_withdraw>(2)) << "its request is still on its way";
    is_silent(2);
    const auto asked = take_asked<ask_withdraw>(2);
    ASSERT_TRUE(asked);
    m.withdrawn(asked->call.ticket, applied::maybe, now, out);
    now += 20s;
    m.on_time(now, out);
    EXPECT_FALSE(take_asked<ask_withdraw>(2)) << "once is enough: it ends by itself";
    EXPECT_EQ(m.deals(), 0U);
}

TEST_F(quorum_machine, nothing_overtakes_a_request_that_is_on_its_way) {
    attempt();
    grants(0, 41);
    refuses(1);
    const auto late = take_asked<ask_attempt>(2);
    now = m.next_due();
    m.on_time(now, out);
    EXPECT_FALSE(take_asked<ask_withdraw>(2));
    m.attempted(
        late->call.ticket, failure{errc::backend_unavailable, applied::maybe, {}}, now, out);
    EXPECT_TRUE(take_asked<ask_withdraw>(2));
}

TEST_F(quorum_machine, a_member_that_hangs_costs_a_twentieth_of_the_ttl_at_most) {
    attempt();
    refuses(0);
    grants(1, 41);
    EXPECT_FALSE(take_said<say_attempted>()) << "the third decides";
    EXPECT_LE(m.next_due() - now, wanted->ttl / 20);
    now = m.next_due();
    m.on_time(now, out);
    EXPECT_TRUE(take_said<say_attempted>());
}

TEST_F(quorum_machine, says_that_it_is_unavailable_when_too_few_can_be_reached) {
    attempt();
    for (member i : {0U, 1U}) {
        const auto asked = take_asked<ask_attempt>(i);
        m.attempted(asked->call.ticket,
                    failure{errc::backend_unavailable, applied::no, "refused"},
                    now,
                    out);
    }
    const auto told = take_said<say_attempted>();
    ASSERT_TRUE(told);
    EXPECT_EQ(std::get<failure>(told->answer).code, errc::backend_unavailable);
}

TEST_F(quorum_machine, two_that_split_the_members_come_back_at_different_times) {
    std::set<duration> pauses;
    for (int i = 0; i < 20; ++i) {
        attempt(joining::queue);
        now += 2ms;
        grants(0, 41);
        refuses(1);
        refuses(2);
        const auto pause = std::get<contended>(take_said<say_attempted>()->answer).retry_after;
        EXPECT_GE(pause, 2ms) << "longer than a round";
        EXPECT_LE(pause, 1s);
        pauses.insert(pause);
    }
    EXPECT_GT(pauses.size(), 15U);
}

TEST_F(quorum_machine, each_round_has_its_own_nonce_after_one_was_taken_back) {
    attempt(joining::queue);
    const auto first = std::get<ask_attempt>(out[0]).what->nonce;
    grants(0, 41);
    refuses(1);
    refuses(2);
    attempt(joining::queue);
    EXPECT_NE(take_asked<ask_attempt>(0)->what->nonce, first);
}

TEST_F(quorum_machine, the_same_nonce_again_gets_the_same_fence) {
    const auto before = held();
    out.clear();
    attempt();
    grants(0, 41);
    grants(1, 41);
    const auto again = granted();
    EXPECT_EQ(again.fence, before.fence);
    EXPECT_EQ(again.terms.bond, before.terms.bond);
}

TEST_F(quorum_machine, a_renewal_needs_a_quorum_and_is_lost_when_none_is_possible) {
    const auto given = held();
    const auto bond = std::array{given.terms.bond};
    refuses(2);
    now += 3s;
    m.renew(ask(), bond, now, out);
    renews(0, renewed::yes);
    EXPECT_FALSE(take_said<say_renewed>());
    renews(1, renewed::yes);
    const auto kept = take_said<say_renewed>()->answers[0];
    EXPECT_EQ(kept.outcome, renewed::yes);
    EXPECT_EQ(kept.terms.anchor, now);

    m.renew(ask(), bond, now, out);
    renews(0, renewed::yes);
    renews(1, renewed::unknown);
    EXPECT_EQ(take_said<say_renewed>()->answers[0].outcome, renewed::unknown);

    m.renew(ask(), bond, now, out);
    renews(0, renewed::lost);
    EXPECT_EQ(take_said<say_renewed>()->answers[0].outcome, renewed::lost);
}

TEST_F(quorum_machine, a_member_that_was_away_is_taken_again_and_counts_from_the_next_renewal_on) {
    const auto given = held();
    const auto bond = std::array{given.terms.bond};
    is_silent(2);
    m.renew(ask(), bond, now, out);
    renews(0, renewed::yes);
    grants(2, 99); // asked anew beside the renewal
    renews(1, renewed::lost);
    EXPECT_EQ(take_said<say_renewed>()->answers[0].outcome, renewed::unknown);
    m.renew(ask(), bond, now, out);
    renews(0, renewed::yes);
    renews(2, renewed::yes);
    EXPECT_EQ(take_said<say_renewed>()->answers[0].outcome, renewed::yes);
}

TEST_F(quorum_machine, released_when_a_quorum_says_so_and_the_rest_is_seen_to) {
    (void)held();
    grants(2, 41);
    m.release(ask(), wanted, now, out);
    for (member i : {0U, 1U}) {
        const auto asked = take_asked<ask_release>(i);
        ASSERT_TRUE(asked);
        m.released(asked->call.ticket, release_result::released, now, out);
    }
    EXPECT_EQ(take_said<say_released>()->result, release_result::released);
    const auto rest = take_asked<ask_release>(2);
    ASSERT_TRUE(rest);
    m.released(rest->call.ticket, release_result::unknown, now, out);
    EXPECT_EQ(m.deals(), 1U);
    now += 2s;
    m.on_time(now, out);
    const auto again = take_asked<ask_withdraw>(2);
    ASSERT_TRUE(again);
    m.withdrawn(again->call.ticket, applied::no, now, out);
    EXPECT_EQ(m.deals(), 0U);
}

TEST_F(quorum_machine, is_lost_when_members_took_it_away) {
    const auto given = held();
    refuses(2);
    m.bond_lost(0, bond_id{100}, out);
    EXPECT_EQ(take_said<say_lost>()->bond, given.terms.bond);
    m.forget(given.terms.bond, now, out);
    EXPECT_TRUE(take_asked<ask_withdraw>(1)) << "nobody believes in it any more";
}

class strong_quorum : public table {
protected:
    strong_quorum() : table{{.members = 5, .needed = needed_of(5, 2)}} {}
};

TEST_F(strong_quorum, needs_four_of_five) {
    EXPECT_EQ(needed_of(3, 0), 2U);
    EXPECT_EQ(needed_of(5, 0), 3U);
    EXPECT_EQ(needed_of(3, 2), 3U);
    EXPECT_EQ(needed_of(5, 2), 4U);
    EXPECT_EQ(needed_of(7, 2), 5U);
    attempt();
    for (member i : {0U, 1U, 2U})
        grants(i, 41);
    EXPECT_FALSE(take_said<say_attempted>());
    grants(4, 41);
    (void)granted();
}

class hinting_members : public table {
protected:
    hinting_members() : table{{.members = 3, .needed = 2, .hints = true}} {}
};

TEST_F(hinting_members, are_joined_and_one_hint_is_not_yet_a_lock) {
    attempt(joining::queue);
    const auto nonce = std::get<ask_attempt>(out[0]).what->nonce;
    EXPECT_EQ(std::get<ask_attempt>(out[0]).join, joining::queue);
    for (member i : {0U, 1U, 2U})
        refuses(i);
    m.woken(0, nonce, now);
    EXPECT_EQ(m.next_due(), never);
    m.woken(2, nonce, now);
    now = m.next_due();
    m.on_time(now, out);
    ASSERT_TRUE(take_said<say_woken>());
}

class blocking_members : public table {
protected:
    blocking_members() : table{{.members = 3, .needed = 2, .one_by_one = true}} {}
};

TEST_F(blocking_members, share_the_time_and_never_go_beyond_it) {
    attempt();
    instant last = now;
    for (member i : {0U, 1U, 2U}) {
        const auto by = take_asked<ask_attempt>(i)->call.answer_by;
        EXPECT_GT(by, last);
        EXPECT_LT(by, now + 1s);
        last = by;
    }
}

} // namespace
} // namespace holdfast::quorum
