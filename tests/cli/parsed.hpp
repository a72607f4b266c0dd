#pragma once

#include <boost/json/value.hpp>

#include <cstddef>
#include <string>

namespace holdfast::cli_tests {

/// Throws if it is not one whole JSON text.
[[nodiscard]] boost::json::value parsed(const std::string& text);

/// Of what `holdfast show --json` said.
[[nodiscard]] std::size_t waiters_in(const std::string& shown);

} // namespace holdfast::cli_tests
