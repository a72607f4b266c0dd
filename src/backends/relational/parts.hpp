#pragma once

// Small words that the parts of the engine share.

#include "backends/relational/view.hpp"

#include <holdfast/backend.hpp>

#include <chrono>
#include <cstdint>
#include <cstring>

namespace holdfast::relational {

/// The clocks of servers tell microseconds; this is for what lies between two of their readings.
inline constexpr duration margin = std::chrono::milliseconds{5};
/// After that a statement that was sent has been carried out, or never will be: the server ends
/// those that take longer, and we cut connections before their time.
inline constexpr duration longest_doubt = std::chrono::seconds{10};
/// Most leases are over by then, and need no connection to hear of an operator.
inline constexpr duration listens_after = std::chrono::milliseconds{200};

/// How soon and how often those who have a place are asked for, all at once: whether it is their
/// turn, and nobody has told them.
[[nodiscard]] inline duration catches_up_first(const capabilities& can) {
    return std::chrono::milliseconds{can.wake == wake_by::polling ? 20 : 1000};
}
[[nodiscard]] inline duration catches_up_at_least_every(const capabilities& can) {
    return std::chrono::milliseconds{can.wake == wake_by::polling ? 500 : 1000};
}

/// How often a grant is passed on inside this client that others wait for, too.
inline constexpr std::uint32_t passes_while_others_wait = 8;

/// How often what may come late is looked for.
inline constexpr duration clears_every = std::chrono::seconds{1};

/// How often what nobody will come back for is looked for.
[[nodiscard]] duration tidies_every(const sql::options&);

/// Whether its grant lives on the bond that all such claims of one client share. What ends by
/// itself, or is kept back after a loss, needs one of its own, which others do not prolong.
[[nodiscard]] inline bool shares_bond(const claim& c) {
    return c.renewal == renewal::automatic && c.lock_delay == duration::zero();
}

[[nodiscard]] inline std::int64_t microseconds(duration d) {
    return std::chrono::duration_cast<std::chrono::microseconds>(d).count();
}

[[nodiscard]] inline octets octets_of(const nonce& n) { return {raw_of(n)}; }

[[nodiscard]] inline std::int64_t number_of(bond_id b) { return static_cast<std::int64_t>(b); }

/// Gives back what is held alone, and with it a bond of its own. `only_under`: if this bond keeps
/// it, and no other does by now.
[[nodiscard]] inline statement release_of(const std::string& name,
                                          const nonce& n,
                                          std::int64_t own_bond = 0,
                                          std::int64_t only_under = 0) {
    return {.what = query::release, .with = {name, octets_of(n), own_bond, only_under}};
}

/// The same of what is shared, and of a place.
[[nodiscard]] inline statement
leave_of(const std::string& name, const nonce& n, std::int64_t only_under = 0) {
    return {.what = query::leave, .with = {name, octets_of(n), only_under}};
}

/// Neither 0 nor negative, and never the same again.
[[nodiscard]] inline std::int64_t number_from(std::uint64_t bits) {
    return static_cast<std::int64_t>(bits >> 1 | 1);
}

/// The bond of a claim that shares none. The same claim asked again means the same.
[[nodiscard]] inline bond_id own_bond(const claim& c) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, c.nonce.bytes.data(), sizeof bits);
    return bond_id{static_cast<std::uint64_t>(number_from(bits))};
}

} // namespace holdfast::relational
