#pragma once

#include "backends/zookeeper/operation.hpp"

namespace holdfast::zookeeper {

/// What a code of the C client means for what was asked.
[[nodiscard]] outcome outcome_of(int code) noexcept;

} // namespace holdfast::zookeeper
