#pragma once

#include "backends/sqlite/file.hpp"
#include "backends/sqlite/machine.hpp"

#include <holdfast/sqlite.hpp>

#include <memory>

namespace holdfast::sqlite {

/// As the public make(), on a machine that a test has made up.
[[nodiscard]] std::unique_ptr<backend> make(const options&, const machine&);

} // namespace holdfast::sqlite
