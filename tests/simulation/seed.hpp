#pragma once

// One seed, lived through and told about.

#include "models/sighting.hpp"
#include "simulation/options.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace holdfast::simulation {

struct outcome {
    std::uint64_t events = 0;
    std::uint64_t hash = 0; // of everything that happened
    duration lived{};       // virtual time
    models::sightings seen;
    std::string invariant; // empty if all held
    std::string story;     // what went wrong, and the last lines before it; only if something did
};

[[nodiscard]] outcome live(const options&);

/// As live(), but on failure once more, with lines: seed, options, and the tail of the story.
[[nodiscard]] outcome live_and_tell(const options&);

/// All lines, whatever the end.
[[nodiscard]] std::string whole_story(const options&);

/// $NAME as a number, or what to take without it.
[[nodiscard]] std::uint64_t number_from_environment(const char* name, std::uint64_t without);

} // namespace holdfast::simulation
