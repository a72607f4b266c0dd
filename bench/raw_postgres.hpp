#pragma once

#include "raw_sql.hpp"

namespace bench {

/// By libpq, with prepared statements. `holder` tells apart who takes.
[[nodiscard]] std::unique_ptr<raw_sql>
raw_postgres(std::uint16_t port, const std::string& user, const std::string& holder);

/// Null while the server does not answer.
[[nodiscard]] std::unique_ptr<raw_sql>
try_raw_postgres(std::uint16_t port, const std::string& user, const std::string& database);

/// Told to a connection once, by the owner of the database.
[[nodiscard]] std::string raw_postgres_tables();

} // namespace bench
