// Many worlds, one seed each. HOLDFAST_SEEDS says how many, HOLDFAST_SEED replays a single one with
// its story, HOLDFAST_EVENTS says how long each lasts before it is healed.

#include "simulation/seed.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <iostream>

namespace holdfast::simulation {
namespace {

using models::sighting;

[[nodiscard]] options options_for(std::uint64_t seed) {
    auto o = draw_options(seed);
    o.events = number_from_environment("HOLDFAST_EVENTS", o.events);
    return o;
}

class seeds : public testing::TestWithParam<engine> {};

TEST_P(seeds, nothing_that_must_not_happen_happens) {
    const auto count = number_from_environment("HOLDFAST_SEEDS", 2000);
    models::sightings seen;
    std::uint64_t worlds = 0;
    std::uint64_t events = 0;
    duration lived{};
    unsigned failures = 0;
    const auto began = std::chrono::steady_clock::now();
    for (std::uint64_t seed = static_cast<std::uint64_t>(GetParam()); seed < count; seed += 3) {
        const auto result = live_and_tell(options_for(seed));
        ++worlds;
        events += result.events;
        lived += result.lived;
        seen += result.seen;
        if (!result.invariant.empty()) {
            ADD_FAILURE() << result.story;
            if (++failures == 3)
                return;
        }
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    std::cout << name_of(GetParam()) << ": " << worlds << " worlds, " << events << " events, "
              << lived / std::chrono::hours{1} << " hours lived in " << took.count() << " s\n";
    for (std::size_t i = 0; i < models::sightings_count; ++i)
        std::cout << "    " << models::name_of(static_cast<sighting>(i)) << ": " << seen.seen[i]
                  << '\n';
}

INSTANTIATE_TEST_SUITE_P(of, seeds, testing::ValuesIn(all_engines), [](const auto& which) {
    return std::string{name_of(which.param)};
});

TEST(replay, one_seed) {
    const auto seed = number_from_environment("HOLDFAST_SEED", ~std::uint64_t{0});
    if (seed == ~std::uint64_t{0})
        GTEST_SKIP() << "HOLDFAST_SEED is not set";
    const auto o = options_for(seed);
    std::cout << whole_story(o);
    EXPECT_EQ(live(o).invariant, "");
}

} // namespace
} // namespace holdfast::simulation
