#pragma once

// What the conductor and all workers share: what is to be done, and the counters that check
// nothing.

#include "record.hpp"
#include "schedule.hpp"

#include <array>
#include <atomic>
#include <string>

namespace holdfast::cli::ordeal {

inline constexpr std::size_t longest_url = 4000;

struct arena {
    // Written before the first worker starts. The URL travels here: a command line can be read by
    // everybody, and a URL may have a password in it.
    std::array<char, longest_url + 1> url{};
    std::array<char, 64> prefix{}; ///< what all names of this run begin with
    std::int64_t ttl = 0;
    std::uint64_t seed = 0;
    std::uint32_t permits = 0;
    bool has_fences = false;
    bool has_permits = false;
    bool has_readers = false;

    std::atomic<std::uint32_t> born; ///< workers so far; gives each process another seed
    std::atomic<bool> pauses;        ///< which of the counters is at work
    std::atomic<bool> stopping;      ///< finish what you do, and end
    std::atomic<bool> has_failure;
    std::array<char, 200> first_failure{}; ///< what the engine said when it failed first
    std::array<std::int64_t, 2> counter{}; ///< protected by locks alone
};

[[nodiscard]] inline std::string name_of(const arena& shared, place where) {
    constexpr std::array names{"steady-counter", "counter", "vault", "permits", "readers-writers"};
    return shared.prefix.data() + std::string{names[static_cast<std::size_t>(where)]};
}

} // namespace holdfast::cli::ordeal
