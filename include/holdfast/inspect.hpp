#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/fence.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast {

/// Somebody who holds or waits, as told to humans. Never used to decide anything.
struct party {
    std::string host;
    std::int64_t pid = 0;
    std::string purpose; ///< the command line, or what the program said of itself

    friend bool operator==(const party&, const party&) = default;
};

/// What is wanted of a name: alone, together with other readers, or one of N permits.
enum class mode : std::uint8_t { exclusive, shared, permit };

/// One holder of one name, as the engine sees it.
struct holder_info {
    party who;
    holdfast::mode mode = mode::exclusive;
    holdfast::fence fence;
    duration held_for{};               ///< since it was granted
    std::optional<duration> remaining; ///< until it ends unless renewed, where there is an end
    std::string remark;                ///< what an operator should know, or nothing
};

/// One waiter for one name, in the order in which they will be served where that is known.
struct waiter_info {
    party who;
    holdfast::mode mode = mode::exclusive;
    duration waited_for{};
};

struct lock_info {
    std::string name;
    std::vector<holder_info> holders;
    std::vector<waiter_info> waiters;
};

/// One line of `holdfast doctor`.
struct finding {
    enum class grade : std::uint8_t { good, notice, warning, danger };
    grade how = grade::good;
    std::string what; ///< what is so
    std::string fix;  ///< what would make it better, or nothing
};

} // namespace holdfast
