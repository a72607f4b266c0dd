// How to reach the engine `mysql`: one server for all tests of a program, a database for each.

#include "conformance/engine.hpp"
#include "gate/gate.hpp"
#include "servers/mariadb.hpp"

#include <holdfast/mysql.hpp>

namespace holdfast::conformance {
namespace {

/// Started when first needed; each test has tables of its own.
[[nodiscard]] servers::mariadb_server& the_server() {
    static servers::mariadb_server one;
    return one;
}

[[nodiscard]] std::string next_table() {
    static int last = 0;
    return "t" + std::to_string(++last);
}

class mysql_place final : public place {
public:
    std::unique_ptr<backend> connect() override {
        sql::options how;
        how.servers = {{"127.0.0.1", gate_.port()}};
        how.user = "holdfast";
        how.database = "holdfast";
        how.table = table_;
        return mysql::make(how);
    }
    std::string url() const override {
        return "mysql://holdfast@" + gate_.address() + "/holdfast?table=" + table_;
    }

    // Nobody gets through, and who was connected is cut off.
    void fail() override {
        gate_.refuse();
        gate_.cut();
    }
    void recover() override { gate_.admit(); }

private:
    servers::gate gate_{the_server().port()};
    const std::string table_ = next_table();
};

[[maybe_unused]] const bool added =
    is_asked_for("mysql") && !servers::mariadb_server::missing() &&
    add({
        .promises = {.engine = "mysql",
                     .reach = reach::network,
                     .shared = true,
                     .permits = true,
                     .fair = true,
                     .lock_delay = true,
                     .fence_per_pass = true,
                     .raises_fences = true,
                     .fences = fence_grade::hybrid,
                     .ttl = ttl_scope::shared,
                     .wake = wake_by::polling,
                     .assumptions = 7},
        .can_fail = true,
        .make_place = []() -> std::unique_ptr<place> { return std::make_unique<mysql_place>(); },
    });

} // namespace
} // namespace holdfast::conformance
