#pragma once

#include <holdfast/sql.hpp>

#include <string_view>

namespace holdfast::relational {

/// //[user[:password]@]host[:port][,host[:port]…]/database[?option=value&…]
[[nodiscard]] sql::options options_of(const char* engine, std::string_view rest);

/// Throws if they make no sense.
void check(const char* engine, const sql::options&);

} // namespace holdfast::relational
