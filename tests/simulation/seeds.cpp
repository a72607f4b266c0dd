// Many worlds, one seed each.
//
//   HOLDFAST_SEEDS=n    how many in all (2,000)
//   HOLDFAST_FIRST=n    the first of them (0)
//   HOLDFAST_SEED=n     only this one, with its whole story
//   HOLDFAST_EVENTS=n   how much happens in each before it is healed (2,500)

#include "simulation/regressions.hpp"
#include "simulation/seed.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <string>

namespace holdfast::simulation {
namespace {

using models::sighting;

constexpr std::uint64_t none = ~std::uint64_t{0};
constexpr std::uint64_t enough_to_see_all = 1500; // worlds, of all engines together

constexpr engine engines[] = {
    engine::volatile_ttl, engine::session_queue, engine::lossy_sql, engine::zookeeper};

/// Those of ZooKeeper are numbered for themselves.
[[nodiscard]] options options_for(std::uint64_t seed, engine e) {
    auto o = e == engine::zookeeper ? draw_zookeeper(seed) : draw_options(seed);
    o.events = number_from_environment("HOLDFAST_EVENTS", o.events);
    return o;
}

/// What cannot be seen on this engine, however long one looks.
[[nodiscard]] bool out_of_sight(sighting s, engine e) {
    switch (s) {
    case sighting::predecessor_in_queue_died:
    case sighting::place_lost_while_waiting:
        return e == engine::volatile_ttl; // it has no places
    case sighting::grant_pushed_while_asking:
        return e != engine::session_queue;
    case sighting::lost_hint_made_good_by_asking:
        return e == engine::lossy_sql || e == engine::zookeeper; // nothing is said unasked
    case sighting::operator_took_a_lease:
        return e == engine::lossy_sql;
    case sighting::kept_back_by_lock_delay:
        return has_sessions(e);
    case sighting::granted_by_an_event_alone:
    case sighting::granted_by_a_number_alone:
    case sighting::lost_making_looked_for:
        return e != engine::zookeeper;
    case sighting::engine_forgot_everything:
        return e != engine::volatile_ttl;
    default:
        return false;
    }
}

/// What is so rare on this engine that it need not be seen.
[[nodiscard]] bool hardly_seen(sighting s, engine e) {
    return e == engine::zookeeper &&
           (s == sighting::grant_pushed_while_asking || s == sighting::dead_man_killed);
}

struct totals {
    std::uint64_t worlds = 0;
    std::uint64_t events = 0;
    duration lived{};
    models::sightings seen;

    void add(const outcome& o) {
        ++worlds;
        events += o.events;
        lived += o.lived;
        seen += o.seen;
    }
};

class seeds : public testing::TestWithParam<engine> {
protected:
    totals total_;

    void live_through_all(std::uint64_t count) {
        unsigned failures = 0;
        auto first = number_from_environment("HOLDFAST_FIRST", 0);
        first -= first % std::size(all_engines); // each engine has its own part of the numbers
        const bool own_numbers = GetParam() == engine::zookeeper;
        const auto begin = own_numbers ? 0 : static_cast<std::uint64_t>(GetParam());
        for (auto i = begin; i < count && failures < 3; i += std::size(all_engines)) {
            const auto seed = own_numbers ? first + i / std::size(all_engines) : first + i;
            const auto result = live_and_tell(options_for(seed, GetParam()));
            total_.add(result);
            if (!result.invariant.empty()) {
                ADD_FAILURE() << result.story;
                ++failures;
            }
        }
    }

    void tell(std::chrono::duration<double> took) const {
        std::cout << name_of(GetParam()) << ": " << total_.worlds << " worlds, " << total_.events
                  << " events, " << total_.lived / std::chrono::minutes{1} << " virtual minutes, "
                  << static_cast<std::uint64_t>(static_cast<double>(total_.events) / took.count())
                  << " events a second\n";
        for (std::size_t i = 0; i < models::sightings_count; ++i)
            std::cout << "    " << models::name_of(static_cast<sighting>(i)) << ": "
                      << total_.seen.seen[i] << '\n';
    }

    void expect_that_all_was_seen() const {
        for (std::size_t i = 0; i < models::sightings_count; ++i) {
            const auto s = static_cast<sighting>(i);
            if (hardly_seen(s, GetParam()))
                continue;
            EXPECT_EQ(total_.seen.of(s) == 0, out_of_sight(s, GetParam()))
                << models::name_of(s) << ": seen " << total_.seen.of(s) << " times";
        }
    }
};

TEST_P(seeds, nothing_happens_that_must_not) {
    if (const auto one = number_from_environment("HOLDFAST_SEED", none); one != none) {
        const auto o = options_for(one, GetParam());
        if (o.engine != GetParam())
            return;
        std::cout << whole_story(o);
        EXPECT_EQ(live(o).invariant, "");
        return;
    }
    const auto count = number_from_environment("HOLDFAST_SEEDS", 2000);
    const auto began = std::chrono::steady_clock::now();
    live_through_all(count);
    tell(std::chrono::steady_clock::now() - began);
    if (count >= enough_to_see_all)
        expect_that_all_was_seen();
}

TEST_P(seeds, the_same_seed_tells_the_same_story_twice) {
    for (std::uint64_t i = 0; i < 30; ++i) {
        const auto o = options_for(1'000'000 + i * std::size(all_engines) +
                                       static_cast<std::uint64_t>(GetParam()),
                                   GetParam());
        const auto first = live(o);
        const auto second = live(o);
        EXPECT_EQ(first.hash, second.hash) << "seed " << o.seed;
        EXPECT_EQ(first.events, second.events) << "seed " << o.seed;
    }
}

INSTANTIATE_TEST_SUITE_P(of, seeds, testing::ValuesIn(engines), [](const auto& which) {
    return std::string{name_of(which.param)};
});

TEST(regressions, what_went_wrong_once_does_not_again) {
    for (const auto& r : regressions) {
        const auto result = live_and_tell(draw_options(r.seed));
        EXPECT_EQ(result.invariant, "") << r.what << "\n" << result.story;
    }
}

} // namespace
} // namespace holdfast::simulation
