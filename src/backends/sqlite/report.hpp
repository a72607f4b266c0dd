#pragma once

// What humans are told of a lock file: who holds, who waits, and whether all is well.

#include "backends/sqlite/file.hpp"

#include <holdfast/inspect.hpp>

#include <string>
#include <vector>

namespace holdfast::sqlite {

/// Who holds and who waits, for names that match the pattern (fnmatch(3)). Changes nothing.
[[nodiscard]] std::vector<lock_info>
who_holds(const lock_file&, const std::string& pattern, instant now);

/// The health of the file, worst first.
[[nodiscard]] std::vector<finding> health_of(const lock_file&, instant now);

} // namespace holdfast::sqlite
