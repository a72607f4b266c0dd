// Worlds in which three or five servers are asked as one: members crash and come back, with all
// they knew or empty; clocks are off; messages are lost, late and doubled. The same people and the
// same oracle as on a single engine: one believer, fences that grow, nobody waits in vain.
//
//   HOLDFAST_SEEDS, HOLDFAST_FIRST, HOLDFAST_SEED, HOLDFAST_EVENTS: as in seeds.cpp

#include "simulation/seed.hpp"

#include <gtest/gtest.h>

#include <iostream>

namespace holdfast::simulation {
namespace {

using models::sighting;

constexpr std::uint64_t none = ~std::uint64_t{0};

[[nodiscard]] options options_for(std::uint64_t seed) {
    auto o = draw_quorum(seed);
    o.events = number_from_environment("HOLDFAST_EVENTS", o.events);
    return o;
}

/// What a quorum must have come through, or its worlds prove less than they say.
constexpr sighting to_be_seen[] = {
    sighting::lease_expired_under_a_living_holder,
    sighting::dead_holder_taken_over,
    sighting::stale_effect_rejected,
    sighting::unknown_acquire_was_ours,
    sighting::renewed_in_the_last_sixth,
    sighting::doubt_resolved,
    sighting::release_unknown_and_retried,
    sighting::grant_raced_with_giving_up,
    sighting::lease_passed_on,
    sighting::entered_again,
    sighting::explicit_lease_ended,
    sighting::kept_back_by_lock_delay,
    sighting::suspend_outlived_a_lease,
    sighting::engine_forgot_everything,
    sighting::several_held_together,
};

TEST(quorum_worlds, nothing_happens_in_them_that_must_not) {
    if (const auto one = number_from_environment("HOLDFAST_SEED", none); one != none) {
        std::cout << whole_story(options_for(one));
        EXPECT_EQ(live(options_for(one)).invariant, "");
        return;
    }
    const auto first = number_from_environment("HOLDFAST_FIRST", 0);
    const auto count = number_from_environment("HOLDFAST_SEEDS", 2000) / 3;
    unsigned failures = 0;
    std::uint64_t events = 0;
    models::sightings seen;
    for (auto seed = first; seed < first + count && failures < 3; ++seed) {
        const auto result = live_and_tell(options_for(seed));
        events += result.events;
        seen += result.seen;
        if (!result.invariant.empty()) {
            ADD_FAILURE() << result.story;
            ++failures;
        }
    }
    std::cout << "quorum: " << count << " worlds, " << events << " events\n";
    for (const auto s : to_be_seen) {
        std::cout << "    " << models::name_of(s) << ": " << seen.of(s) << '\n';
        EXPECT_TRUE(seen.of(s) > 0 || count < 500) << models::name_of(s);
    }
}

TEST(quorum_worlds, the_same_seed_tells_the_same_story) {
    for (std::uint64_t seed = 0; seed < 20; ++seed)
        EXPECT_EQ(live(options_for(seed)).hash, live(options_for(seed)).hash) << seed;
}

} // namespace
} // namespace holdfast::simulation
