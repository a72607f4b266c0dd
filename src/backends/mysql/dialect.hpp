#pragma once

#include "backends/relational/statement.hpp"

#include <string>
#include <vector>

namespace holdfast::mysql {

/// A query in the words of MySQL and MariaDB, with $1, $2 … in the place of what it is given. Where
/// it takes several statements, these are sent together.
[[nodiscard]] std::string frame_of(relational::query, std::string_view prefix);

/// A statement with what it is given written into its frame.
[[nodiscard]] std::string text_of(const relational::statement&, std::string_view frame);

[[nodiscard]] std::string
front_text(relational::front_query, std::string_view prefix, std::string_view name);

/// What makes the tables; one text.
[[nodiscard]] std::string schema(std::string_view prefix);

/// The answer to a statement that gives no rows, in the columns of its query.
[[nodiscard]] relational::table
answer_without_rows(relational::query, std::uint64_t changed, std::uint64_t last_insert_id);

} // namespace holdfast::mysql
