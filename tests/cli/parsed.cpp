#include "parsed.hpp"

#include <boost/json/src.hpp> // header-only: one library less to install

namespace holdfast::cli_tests {

boost::json::value parsed(const std::string& text) { return boost::json::parse(text); }

std::size_t waiters_in(const std::string& shown) {
    return parsed(shown).at("waiters").as_array().size();
}

} // namespace holdfast::cli_tests
