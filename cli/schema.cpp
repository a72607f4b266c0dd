#include "schema.hpp"
#include "complaint.hpp"

#include <holdfast/client.hpp>

#ifdef HOLDFAST_HAS_MYSQL
#include <holdfast/mysql.hpp>
#endif
#ifdef HOLDFAST_HAS_POSTGRES
#include <holdfast/postgres.hpp>
#endif

#include <algorithm>
#include <string_view>
#include <vector>

namespace holdfast::cli {

namespace {

struct engine_with_tables {
    std::string_view scheme;
    std::string (*schema_for)(std::string_view url);
};

std::vector<engine_with_tables> engines_with_tables() {
    std::vector<engine_with_tables> all;
#ifdef HOLDFAST_HAS_POSTGRES
    const auto on_postgres = [](std::string_view url) {
        return postgres::schema(postgres::options_of(url));
    };
    all.push_back({"postgres", on_postgres});
    all.push_back({"postgresql", on_postgres});
#endif
#ifdef HOLDFAST_HAS_MYSQL
    const auto on_mysql = [](std::string_view url) {
        return mysql::schema(mysql::options_of(url));
    };
    all.push_back({"mysql", on_mysql});
    all.push_back({"mariadb", on_mysql});
#endif
    return all;
}

/// Without an empty line at its beginning.
std::string as_file(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of('\n'), text.size()));
    return std::string{text};
}

[[noreturn]] void refuse() {
    std::string known;
    for (const auto& one : engines_with_tables()) {
        known += (known.empty() ? "" : ", ") + std::string{one.scheme} + ":";
    }
    throw usage_error{known.empty()
                          ? "this program has no engine that needs tables"
                          : "a schema is for one of " + known + "; other engines need none"};
}

} // namespace

std::string schema_for(const std::string& url) {
    const auto whole = url.empty() ? default_url() : url;
    const std::string_view scheme{whole.data(), std::min(whole.find(':'), whole.size())};
    for (const auto& one : engines_with_tables()) {
        if (one.scheme == scheme) {
            return as_file(one.schema_for(whole));
        }
    }
    refuse();
}

} // namespace holdfast::cli
