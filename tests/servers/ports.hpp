#pragma once

#include <cstdint>

namespace holdfast::servers {

/// A loopback port that nobody uses at the moment, nor the one 10000 higher, which Redis Cluster
/// needs too. Somebody else may be faster: be ready to ask again.
[[nodiscard]] std::uint16_t free_port();

} // namespace holdfast::servers
