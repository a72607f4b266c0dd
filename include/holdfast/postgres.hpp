#pragma once

#include <holdfast/backend.hpp>
#include <holdfast/sql.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace holdfast::postgres {

/// Locks in a PostgreSQL database. Connecting happens by itself, when first needed; what cannot be
/// right throws.
[[nodiscard]] std::unique_ptr<backend> make(sql::options);

/// What a URL says: postgres://user:password@host:port/database?option=value…
[[nodiscard]] sql::options options_of(std::string_view url);

/// What makes the tables, for those whose account may not.
[[nodiscard]] std::string schema(const sql::options&);

} // namespace holdfast::postgres
