#pragma once

// Many at once, each with a name of its own, on any engine.

#include "timed.hpp"

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

inline constexpr std::size_t threads_apart = 64, coroutines_apart = 1000;

/// Names of one client, one for each who works.
struct plots {
    holdfast::client client;
    std::vector<holdfast::mutex> locks;
    std::vector<std::int64_t> last_fence;

    plots(const std::string& url, std::size_t count)
        : client{holdfast::open(url)}, last_fence(count) {
        for (std::size_t i = 0; i < count; ++i)
            locks.emplace_back(client, "apart/" + std::to_string(i));
    }
};

/// One for each name; all cycles are asked for and counted by this thread.
[[nodiscard]] sample by_coroutines(plots&, std::uint64_t cycles);

} // namespace bench
