// How to reach the engine `mysql`: one server for all tests of a program, tables of its own for
// each test. A form for each mode. HOLDFAST_MYSQL_PORT names a server that runs already, of MySQL
// or MariaDB, with a user and a database `holdfast`.

#include "conformance/engine.hpp"
#include "gate/gate.hpp"
#include "servers/mariadb.hpp"

#include <holdfast/mysql.hpp>

#include <cstdlib>
#include <string>

namespace holdfast::conformance {
namespace {

[[nodiscard]] std::uint16_t the_port() {
    if (const char* const running = std::getenv("HOLDFAST_MYSQL_PORT"))
        return static_cast<std::uint16_t>(std::stoi(running));
    static const servers::mariadb_server one{{.settings = {"max_connections = 500"}}};
    return one.port();
}

[[nodiscard]] std::string next_table() {
    static int last = 0;
    return "t" + std::to_string(++last);
}

class mysql_place final : public place {
public:
    explicit mysql_place(const char* mode) : mode_{mode} {}

    std::unique_ptr<backend> connect() override { return mysql::make(mysql::options_of(url())); }
    std::string url() const override {
        return "mysql://holdfast@" + gate_.address() + "/holdfast?table=" + table_ +
               "&mode=" + mode_ + "&held_rows=220";
    }

    // Nobody gets through, and who was connected is cut off.
    void fail() override {
        gate_.refuse();
        gate_.cut();
    }
    void recover() override { gate_.admit(); }

private:
    servers::gate gate_{the_port()};
    const std::string table_ = next_table();
    const std::string mode_;
};

template <sql::locking how> [[nodiscard]] bool offer(const char* form) {
    if (!is_asked_for(form) || servers::mariadb_server::missing())
        return false;
    constexpr bool by_lease = how == sql::locking::lease;
    return add({
        .promises = {.engine = "mysql",
                     .reach = reach::network,
                     .shared = by_lease,
                     .permits = by_lease,
                     .fair = true,
                     .lock_delay = true,
                     .keeps_while_stopped = !by_lease,
                     .fence_per_pass = true,
                     .raises_fences = true,
                     .fences = fence_grade::hybrid,
                     .ttl = ttl_scope::shared,
                     .wake = wake_by::polling,
                     .assumptions = by_lease ? 7 : 3},
        .called = form,
        .can_fail = true,
        .make_place = []() -> std::unique_ptr<place> {
            return std::make_unique<mysql_place>(how == sql::locking::row       ? "row"
                                                 : how == sql::locking::session ? "session"
                                                                                : "lease");
        },
    });
}

[[maybe_unused]] const bool leases = offer<sql::locking::lease>("mysql");
[[maybe_unused]] const bool rows = offer<sql::locking::row>("mysql_row");
[[maybe_unused]] const bool sessions = offer<sql::locking::session>("mysql_session");

} // namespace
} // namespace holdfast::conformance
