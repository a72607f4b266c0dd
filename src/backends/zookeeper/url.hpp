#pragma once

#include <holdfast/zookeeper.hpp>

#include <string_view>

namespace holdfast::zookeeper {

/// Throws errc::bad_option with one sentence, in which no password ever stands.
[[nodiscard]] options options_of(std::string_view rest);

} // namespace holdfast::zookeeper
