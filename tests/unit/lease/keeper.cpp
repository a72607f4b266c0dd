#include "lease/keeper.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;

class zero_chance final : public random_source {
public:
    std::uint64_t next() override { return 0; }
};

struct thing : on_bond {
    thing() : on_bond{on_bond::kind::grant} {}
};

constexpr instant start{1h};

class keeping : public testing::Test {
protected:
    bond_terms terms(std::uint64_t id, instant anchor = start, duration ttl = 30s) {
        return {bond_id{id}, anchor, ttl, 0ns};
    }
    // Looks at all that is due at `now`, as the core does; the flights that go out.
    std::vector<do_renew> flights_at(instant now) {
        actions out;
        while (auto* item = when.take_due(now))
            EXPECT_FALSE(k.on_time(static_cast<bond&>(*item), now, ticket{1}, out));
        std::vector<do_renew> flights;
        for (auto& a : out)
            flights.push_back(std::get<do_renew>(a));
        return flights;
    }

    agenda when;
    zero_chance chance;
    keeper k{when, chance, notes{true}};
};

TEST_F(keeping, renews_only_while_something_lives_on_the_bond) {
    thing a, b;
    ASSERT_NE(k.adopt(terms(1), renewal::automatic, a, start), nullptr);
    ASSERT_NE(k.adopt(terms(1), renewal::automatic, b, start), nullptr);
    EXPECT_EQ(k.size(), 1U);
    k.leave(a);
    EXPECT_EQ(flights_at(start + 10s).size(), 1U);
    k.leave(b);
    EXPECT_EQ(k.size(), 0U);
    EXPECT_EQ(when.next(), never);
}

TEST_F(keeping, does_not_renew_an_explicit_lease) {
    thing a;
    ASSERT_NE(k.adopt(terms(1), renewal::none, a, start), nullptr);
    EXPECT_TRUE(flights_at(start + 10s).empty());
    EXPECT_EQ(when.next(), start + 30s - 30ms);
    k.leave(a);
}

TEST_F(keeping, renews_many_bonds_in_few_flights) {
    constexpr std::size_t many = 100'000;
    std::vector<std::unique_ptr<thing>> all;
    for (std::size_t i = 0; i < many; ++i) {
        all.push_back(std::make_unique<thing>());
        // Acquired within two seconds.
        ASSERT_NE(
            k.adopt(terms(i + 1, start + i * 20us), renewal::automatic, *all.back(), start + 2s),
            nullptr);
    }
    std::size_t flights = 0, bonds = 0;
    while (when.next() <= start + 12s)
        for (const auto& f : flights_at(when.next())) {
            ++flights;
            bonds += f.bonds.size();
        }
    EXPECT_EQ(bonds, many);
    EXPECT_LE(flights, many / 1000 + 1) << "those nearly due come along";
    for (auto& one : all)
        k.leave(*one);
}

TEST_F(keeping, makes_at_least_three_full_tries_before_the_deadline) {
    for (const duration ttl : {100ms, 1000ms, 30'000ms, 3'600'000ms}) {
        thing a;
        bond* const b = k.adopt(terms(1, start, ttl), renewal::automatic, a, start);
        int full_tries = 0;
        for (auto now = when.next(); now < b->deadline(); now = when.next()) {
            const auto flights = flights_at(now);
            if (flights.empty())
                continue;
            const auto by = flights.at(0).call.answer_by;
            full_tries += by <= b->deadline();
            actions out;
            const renewal_answer silence{bond_id{1}, renewed::unknown, {}};
            if (k.answered(silence, by, out))
                break;
        }
        EXPECT_GE(full_tries, 3) << ttl / 1ms << " ms";
        k.leave(a);
    }
}

TEST_F(keeping, waits_a_little_before_it_asks_again_after_a_quick_failure) {
    thing a;
    ASSERT_NE(k.adopt(terms(1), renewal::automatic, a, start), nullptr);
    EXPECT_EQ(flights_at(start + 10s).size(), 1U);
    actions out;
    const renewal_answer refused{bond_id{1}, renewed::unknown, {}};
    EXPECT_FALSE(k.answered(refused, start + 10s, out));
    EXPECT_GE(when.next(), start + 10s + renewal_retry(30s) * 3 / 4);
    EXPECT_LE(when.next(), start + 10s + renewal_retry(30s));
    k.leave(a);
}

TEST_F(keeping, says_in_doubt_once_and_that_it_is_over_once) {
    thing a;
    ASSERT_NE(k.adopt(terms(1), renewal::automatic, a, start), nullptr);
    actions out;
    const renewal_answer silence{bond_id{1}, renewed::unknown, {}};
    const renewal_answer yes{bond_id{1}, renewed::yes, terms(1, start + 13s)};
    EXPECT_FALSE(k.answered(silence, start + 11s, out));
    EXPECT_FALSE(k.answered(silence, start + 12s, out));
    EXPECT_FALSE(k.answered(yes, start + 13s, out));
    EXPECT_FALSE(k.answered(yes, start + 14s, out));
    ASSERT_EQ(out.size(), 3U);
    EXPECT_EQ(std::get<tell_observer>(out[0]).what, event::kind::in_doubt);
    EXPECT_EQ(std::get<tell_observer>(out[1]).what, event::kind::renewed_late);
    EXPECT_EQ(std::get<tell_observer>(out[2]).what, event::kind::renewed);
    k.leave(a);
}

TEST_F(keeping, renews_a_bond_as_soon_as_one_of_those_on_it_wants_that) {
    thing explicit_one, other;
    ASSERT_NE(k.adopt(terms(1), renewal::none, explicit_one, start), nullptr);
    ASSERT_NE(k.adopt(terms(1), renewal::automatic, other, start), nullptr);
    EXPECT_EQ(flights_at(start + 10s).size(), 1U);
    k.leave(explicit_one);
    k.leave(other);
}

TEST_F(keeping, lets_a_place_move_from_one_bond_to_the_next) {
    thing place;
    ASSERT_NE(k.adopt(terms(1), renewal::automatic, place, start), nullptr);
    ASSERT_NE(k.adopt(terms(1, start + 1s), renewal::automatic, place, start + 1s), nullptr);
    ASSERT_NE(k.adopt(terms(2, start + 2s), renewal::automatic, place, start + 2s), nullptr);
    EXPECT_EQ(k.size(), 1U);
    EXPECT_EQ(k.find(bond_id{1}), nullptr);
    k.leave(place);
}

TEST_F(keeping, takes_back_no_bond_that_was_lost) {
    thing a;
    bond* const b = k.adopt(terms(1), renewal::automatic, a, start);
    ASSERT_NE(b, nullptr);
    b->living.clear();
    a.by = nullptr;
    actions out;
    k.remember_lost(*b, out);
    EXPECT_EQ(std::get<do_forget>(out.at(0)).bond, bond_id{1});
    EXPECT_EQ(k.adopt(terms(1, start + 1s), renewal::automatic, a, start + 1s), nullptr);
}

TEST_F(keeping, believes_no_terms_that_have_run_out) {
    thing a;
    EXPECT_EQ(k.adopt(terms(1, start, 1s), renewal::automatic, a, start + 1s), nullptr);
    EXPECT_EQ(k.size(), 0U);
}

TEST_F(keeping, never_moves_a_deadline_back) {
    thing a, b;
    bond* const known = k.adopt(terms(1, start + 5s), renewal::automatic, a, start + 5s);
    ASSERT_NE(known, nullptr);
    const auto deadline = known->deadline();
    ASSERT_EQ(k.adopt(terms(1, start), renewal::automatic, b, start + 5s), known)
        << "an older word";
    EXPECT_EQ(known->deadline(), deadline);
    k.leave(a);
    k.leave(b);
}

} // namespace
} // namespace holdfast::detail
