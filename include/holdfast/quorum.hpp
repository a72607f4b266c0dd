#pragma once

#include <holdfast/backend.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace holdfast::quorum {

/// How many members must agree. Two quorums of q out of N share at least 2q - N members; as long as
/// fewer than that forget what they granted, nobody is let in beside a holder.
enum class size : std::uint8_t {
    majority, ///< 2 of 3, 3 of 5: survives most failures, but no member that forgets
    strong,   ///< 3 of 3, 4 of 5, 5 of 7: any two members may forget everything
};

/// Redlock over an odd number of independent engines of one kind, at least three.
/// Throws std::system_error with one sentence if they cannot be used together.
[[nodiscard]] std::unique_ptr<backend> make(std::vector<std::unique_ptr<backend>> members,
                                            size = size::majority);

} // namespace holdfast::quorum
