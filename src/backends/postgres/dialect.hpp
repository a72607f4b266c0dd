#pragma once

#include "backends/relational/statement.hpp"

#include <holdfast/inspect.hpp>

#include <string>
#include <vector>

namespace holdfast::postgres {

/// A query in the words of PostgreSQL, with $1, $2 … for its parameters.
[[nodiscard]] std::string text_of(relational::query, std::string_view prefix);

[[nodiscard]] std::string
front_text(relational::front_query, std::string_view prefix, std::string_view name, mode);

/// What makes the tables; one text.
[[nodiscard]] std::string schema(std::string_view prefix);

/// What a client listens to.
[[nodiscard]] std::string channel(std::string_view prefix, std::int64_t client);

} // namespace holdfast::postgres
