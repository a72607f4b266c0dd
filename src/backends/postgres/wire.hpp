#pragma once

#include "backends/relational/wire.hpp"

#include <memory>

namespace holdfast::postgres {

/// Begins to connect with libpq.
[[nodiscard]] std::unique_ptr<relational::wire>
connect(const sql::options&, const detail::endpoint& where, const std::string& number);

/// What makes the server ready for those statements that are sent all the time.
[[nodiscard]] std::string preparations(std::string_view prefix);

} // namespace holdfast::postgres
