#pragma once

// The protected resource: for each name a number that holders read, increase and write back.
//
// The vault itself looks at fences: lower than the highest it has seen, and an effect is refused. A
// new holder raises its fence before the first read, or an old write could still land between that
// read and the first write. Beside it stands a witness that looks at nothing, to see what would
// have happened.

#include "models/sighting.hpp"
#include "simulation/trace.hpp"

#include <holdfast/fence.hpp>

#include <map>
#include <string>

namespace holdfast::simulation {

class vault {
public:
    explicit vault(models::sightings& seen) : seen_{seen} {}

    struct answer {
        bool accepted = false;
        std::uint64_t value = 0;
    };

    answer raise(const std::string& name, fence by) {
        auto& r = registers_[name];
        if (by < r.highest)
            return {};
        r.highest = by;
        return {true, r.value};
    }

    /// As somebody would who does not know better.
    answer read(const std::string& name) { return {true, registers_[name].value}; }

    answer write(const std::string& name, fence by, std::uint64_t value) {
        auto& r = registers_[name];
        if (by < r.highest) {
            seen_(models::sighting::stale_effect_rejected);
            if (r.highest_written > by)
                seen_(models::sighting::unfenced_resource_harmed); // it would have been, now
            return {};
        }
        if (value != r.value + 1)
            throw violation{"I2 effects", "an update of ", name, " was lost"};
        r.highest = by;
        r.highest_written = by;
        r.value = value;
        return {true, value};
    }

    void acknowledged(const std::string& name) { ++registers_[name].acknowledged; }

    /// In the end: what was acknowledged is there. (What was not heard of may be there, too.)
    void check_nothing_lost() const {
        for (const auto& [name, r] : registers_)
            if (r.value < r.acknowledged)
                throw violation{"I2 effects", "acknowledged updates of ", name, " are gone"};
    }

private:
    struct content {
        std::uint64_t value = 0;
        std::uint64_t acknowledged = 0;
        fence highest;
        fence highest_written;
    };
    models::sightings& seen_;
    std::map<std::string, content> registers_;
};

} // namespace holdfast::simulation
