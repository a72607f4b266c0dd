#pragma once

#include <string>

namespace holdfast::cli {

/// `holdfast schema [URL]`: the SQL that makes an engine's tables, for those whose account may not.
/// An empty URL is the default. Throws usage_error if the engine has no tables.
[[nodiscard]] std::string schema_for(const std::string& url);

} // namespace holdfast::cli
