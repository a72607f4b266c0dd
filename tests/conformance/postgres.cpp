// How to reach the engine `postgres`: one server for all tests of a program, tables of its own for
// each test. A form for each mode.

#include "conformance/engine.hpp"
#include "gate/gate.hpp"
#include "servers/postgres.hpp"

#include <holdfast/postgres.hpp>

#include <string>

namespace holdfast::conformance {
namespace {

[[nodiscard]] servers::postgres_server& the_server() {
    static servers::postgres_server one{{.settings = {"max_connections = 500"}}};
    return one;
}

[[nodiscard]] std::string next_table() {
    static int last = 0;
    return "t" + std::to_string(++last);
}

class postgres_place final : public place {
public:
    explicit postgres_place(const char* mode) : mode_{mode} {}

    std::unique_ptr<backend> connect() override {
        return postgres::make(postgres::options_of(url()));
    }
    std::string url() const override {
        return "postgres://holdfast@" + gate_.address() + "/holdfast?table=" + table_ +
               "&mode=" + mode_ + "&held_rows=220";
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
    const std::string mode_;
};

template <sql::locking how> [[nodiscard]] bool offer(const char* form) {
    if (!is_asked_for(form) || servers::postgres_server::missing())
        return false;
    constexpr bool by_lease = how == sql::locking::lease;
    return add({
        .promises = {.engine = "postgres",
                     .reach = reach::network,
                     .shared = true,
                     .permits = by_lease,
                     .fair = true,
                     .lock_delay = true,
                     .keeps_while_stopped = !by_lease,
                     .fence_per_pass = true,
                     .raises_fences = true,
                     .fences = fence_grade::hybrid,
                     .ttl = ttl_scope::shared,
                     .wake = wake_by::hint,
                     .assumptions = by_lease ? 7 : 3},
        .called = form,
        .can_fail = true,
        .make_place = []() -> std::unique_ptr<place> {
            return std::make_unique<postgres_place>(how == sql::locking::row       ? "row"
                                                    : how == sql::locking::session ? "session"
                                                                                   : "lease");
        },
    });
}

[[maybe_unused]] const bool leases = offer<sql::locking::lease>("postgres");
[[maybe_unused]] const bool rows = offer<sql::locking::row>("postgres_row");
[[maybe_unused]] const bool sessions = offer<sql::locking::session>("postgres_session");

} // namespace
} // namespace holdfast::conformance
