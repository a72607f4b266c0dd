#pragma once

// What an error of PostgreSQL means: one table.

#include "backends/relational/wire.hpp"

#include <string_view>

namespace holdfast::postgres {

/// `state` is its SQLSTATE, `words` what the server or the library said.
[[nodiscard]] relational::trouble trouble_of(std::string_view state, std::string_view words);

/// Why a connection could not be had. The words may begin with a severity and a SQLSTATE.
[[nodiscard]] relational::trouble no_connection(std::string_view words);

} // namespace holdfast::postgres
