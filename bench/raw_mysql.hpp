#pragma once

#include "raw_sql.hpp"

namespace bench {

/// By libmariadb, in text. `holder` tells apart who takes.
[[nodiscard]] std::unique_ptr<raw_sql> raw_mysql(std::uint16_t port, const std::string& holder);

/// As root, by the socket in that folder; null while the server does not answer.
[[nodiscard]] std::unique_ptr<raw_sql> try_raw_mysql(const std::string& socket);

/// Told to a connection once.
[[nodiscard]] std::string raw_mysql_tables();

} // namespace bench
