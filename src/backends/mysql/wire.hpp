#pragma once

#include "backends/relational/wire.hpp"

#include <memory>

namespace holdfast::mysql {

/// Begins to connect with libmariadb.
[[nodiscard]] std::unique_ptr<relational::wire>
connect(const sql::options&, const detail::endpoint& where, const std::string& number);

} // namespace holdfast::mysql
