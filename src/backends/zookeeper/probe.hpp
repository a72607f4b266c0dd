#pragma once

// What servers say of themselves to anybody: the four-letter words. For diagnosis, never to decide
// anything.

#include <holdfast/clock.hpp>
#include <holdfast/zookeeper.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::zookeeper {

struct report {
    enum class is : std::uint8_t {
        unknown_name, ///< its host cannot be looked up
        refusing,     ///< nobody listens there
        silent,       ///< nothing came within the time
        not_serving,  ///< it listens, but has no majority, or has just begun
        serving,
        reserved, ///< it serves somebody, but does not say such things
        foreign,  ///< something else listens there
    };
    address at;
    is how = is::silent;
    std::string said; ///< to "srvr"

    /// What follows "Mode:" and the like; empty if it is not there.
    [[nodiscard]] std::string value(std::string_view key) const;
};

[[nodiscard]] std::string text_of(const address&);

/// The answer to one four-letter word; waits.
[[nodiscard]] report ask(const address&, std::string_view word, duration at_most);

[[nodiscard]] std::vector<report> ask_all(const std::vector<address>&, duration at_most);

/// Why nobody lets us in, in one sentence; empty if somebody should.
[[nodiscard]] std::string why_nobody_serves(const std::vector<report>&);

} // namespace holdfast::zookeeper
