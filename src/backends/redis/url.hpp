#pragma once

#include <holdfast/redis.hpp>

#include <string_view>

namespace holdfast::redis {

/// Throws errc::bad_option with one sentence, in which no password ever stands.
[[nodiscard]] options options_of(std::string_view scheme, std::string_view rest);

} // namespace holdfast::redis
