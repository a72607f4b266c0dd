#pragma once

// What an error of MySQL or MariaDB means: one table.

#include "backends/relational/wire.hpp"

#include <string_view>

namespace holdfast::mysql {

[[nodiscard]] relational::trouble trouble_of(unsigned number, std::string_view words);

} // namespace holdfast::mysql
