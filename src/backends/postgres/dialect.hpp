#pragma once

#include "backends/relational/statement.hpp"

#include <string>
#include <vector>

namespace holdfast::postgres {

/// A query in the words of PostgreSQL, with $1, $2 … for its parameters.
[[nodiscard]] std::string text_of(relational::query, std::string_view prefix);

/// What makes the tables; one text.
[[nodiscard]] std::string schema(std::string_view prefix);

/// What a client listens to.
[[nodiscard]] std::string channel(std::string_view prefix, std::int64_t client);

} // namespace holdfast::postgres
