#include "backends/relational/statement.hpp"

#include <holdfast/sql.hpp>

namespace holdfast::sql {

using relational::hex_of;
// The fence of a lease is that of the grant, or one of those that came along with it. No name can
// be anything but a name here: it is written in digits.
std::string
guard(dialect how, std::string_view name, holdfast::fence number, std::string_view table) {
    const bool postgres = how == dialect::postgres;
    const auto value = std::to_string(number.value());
    const auto lowest = std::to_string(number.value() - relational::reserved_passes);
    std::string row{"SELECT 1 FROM "};
    row.append(table).append("_lock WHERE name = ");
    if (postgres)
        row.append("convert_from('\\x").append(hex_of(name)).append("'::bytea, 'UTF8')");
    else
        row.append("x'").append(hex_of(name)).append("'");
    row.append(" AND nonce IS NOT NULL AND fence BETWEEN ")
        .append(lowest)
        .append(" AND ")
        .append(value);
    row.append(postgres ? " FOR SHARE" : " LOCK IN SHARE MODE");
    // Nothing is found: divided by nothing, or two rows where there can be one.
    if (postgres)
        return "SELECT 1 / count(*) AS holdfast_still_holds FROM (" + row + ") held";
    return "SELECT CASE WHEN EXISTS (" + row +
           ") THEN 1 ELSE (SELECT 1 UNION SELECT 2) END AS holdfast_still_holds";
}

fence_column fenced(holdfast::fence number, std::string_view column) {
    const std::string name{column};
    const auto value = std::to_string(number.value());
    return {name + " = " + value, name + " <= " + value};
}

} // namespace holdfast::sql
