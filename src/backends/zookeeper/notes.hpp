#pragma once

// What a node says of its maker, for humans. Ours: host, process and purpose, with tabs between.
// Curator's: usually an address. Nobody decides anything by it.

#include <holdfast/inspect.hpp>

#include <cstdint>
#include <string_view>

namespace holdfast::zookeeper {

[[nodiscard]] party party_in(std::string_view data);

/// How long ago that was on the wall clock, or zero if it is yet to come.
[[nodiscard]] duration age_of(std::int64_t ms_since_1970);

} // namespace holdfast::zookeeper
