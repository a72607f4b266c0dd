#pragma once

// What an error reply of the server means: one table.

#include "backends/redis/reply.hpp"

#include <holdfast/backend.hpp>

#include <string_view>

namespace holdfast::redis {

/// Its first word: NOSCRIPT, MOVED, WRONGTYPE …
[[nodiscard]] std::string_view first_word(std::string_view error) noexcept;

[[nodiscard]] failure failure_of(std::string_view error);

/// A reply that is not what the command gives: from a hostile or broken server.
[[nodiscard]] failure not_understood();

} // namespace holdfast::redis
