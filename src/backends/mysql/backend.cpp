// MySQL and MariaDB: what is said first, how one is woken, and what is good or bad about a server.

#include "backends/mysql/dialect.hpp"
#include "backends/mysql/errors.hpp"
#include "backends/mysql/wire.hpp"
#include "backends/relational/backend.hpp"
#include "backends/relational/url.hpp"
#include "client/engine_entry.hpp"

#include <holdfast/mysql.hpp>

#include <algorithm>

namespace holdfast::mysql {
namespace {

using relational::part_of;
using relational::table;
using relational::trouble;

constexpr const char* engine = "mysql";
constexpr int usual_port = 3306;

[[nodiscard]] capabilities abilities(const sql::options& how) {
    capabilities can;
    can.engine = engine;
    can.reach = reach::network;
    can.shared = how.mode == sql::locking::lease; // the server's own locks are for one
    can.permits = how.mode == sql::locking::lease;
    can.fair = true;
    can.lock_delay = true;
    can.keeps_while_stopped = how.mode != sql::locking::lease;
    can.fence_per_pass = true;
    can.raises_fences = true;
    can.fences = fence_grade::hybrid;
    can.ttl = ttl_scope::shared;
    can.wake = wake_by::polling; // a bell is rung where that is allowed
    can.assumptions = static_cast<std::uint8_t>(assumption::clock_rates_agree) |
                      static_cast<std::uint8_t>(assumption::engine_remembers);
    if (how.steal == sql::stealing::clock && how.mode == sql::locking::lease)
        can.assumptions |= static_cast<std::uint8_t>(assumption::engine_clock_never_jumps);
    return can;
}

[[nodiscard]] trouble refused(std::string sentence) {
    return {trouble::kind::plain,
            {make_error_code(errc::backend_refused), applied::no, std::move(sentence)}};
}

constexpr std::string_view first_words =
    "SELECT @@global.read_only, CONNECTION_ID(), (SELECT count(*) FROM information_schema.tables"
    " WHERE table_schema = DATABASE() AND table_name = '";

// For connections that are our own: behind a pooler its next user would find them. A statement that
// waits for a row waits a moment, and one that takes very long is ended (where the server can do
// that): then what we sent and gave up cannot take effect much later.
constexpr std::string_view manners =
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;"
    " SET SESSION autocommit = 1, innodb_lock_wait_timeout = 1,"
    " sql_mode = 'STRICT_ALL_TABLES', wait_timeout = 28800 /*M!100101 , max_statement_time = 8 */"
    " /*M!100300 , idle_transaction_timeout = 0 */";

using grade = finding::grade;

class mysql_database final : public relational::database {
public:
    explicit mysql_database(const sql::options& how) : how_{how}, able_{abilities(how)} {}

    const capabilities& able() const noexcept override { return able_; }

    std::unique_ptr<relational::wire> connect(const detail::endpoint& where,
                                              const std::string& number) override {
        return mysql::connect(how_, where, number);
    }

    part_of<std::optional<trouble>> greet(std::shared_ptr<relational::line> line) override {
        auto hello = line->say(std::string{first_words} + how_.table + "_meta')");
        const auto said = co_await hello;
        if (const auto* wrong = std::get_if<trouble>(&said))
            co_return *wrong;
        const auto& state = std::get<table>(said);
        if (state.number(0, 1) != line->session())
            co_return refused(relational::a_pooler_answers);
        if (state.number(0, 0) != 0) // also if we were allowed to
            co_return trouble_of(1290, "");
        if (state.number(0, 2) == 0) {
            auto behaves = line->say(std::string{manners});
            const auto done = co_await behaves;
            if (const auto* wrong = std::get_if<trouble>(&done))
                co_return *wrong;
            auto making = make_tables(line);
            if (const auto wrong = co_await making)
                co_return wrong;
        }
        const auto version =
            std::string{manners} + "; SELECT max(version) FROM " + how_.table + "_meta";
        auto versions = line->say(version);
        auto ready = co_await versions;
        if (const auto* row = std::get_if<table>(&ready); row != nullptr && row->is_null(0, 0)) {
            auto making = make_tables(line); // somebody else has not come to the end of it
            if (const auto wrong = co_await making)
                co_return wrong;
            auto versions_now = line->say(version);
            ready = co_await versions_now;
        }
        if (const auto* wrong = std::get_if<trouble>(&ready))
            co_return *wrong;
        if (std::get<table>(ready).number(0, 0) != relational::schema_version)
            co_return refused("the tables " + how_.table + "_… are of another version of holdfast");
        co_return std::nullopt;
    }

    // One connection waits for a lock that the other has, and everybody may end the statements of
    // his own account. Not SLEEP(): all who sleep share a mutex in the server, and who ends one of
    // them polls for it.
    std::string listening(std::int64_t client) const override {
        return "DO GET_LOCK(" + bell_lock(client) + ", 0)";
    }
    std::string number_of_bell() const override { return "SELECT CONNECTION_ID()"; }
    std::string sleeping(std::int64_t client) const override {
        const auto lock = bell_lock(client);
        return "/*M!100101 SET STATEMENT max_statement_time = 0 FOR */ SELECT IF(GET_LOCK(" + lock +
               ", 60) = 1, RELEASE_LOCK(" + lock +
               ") + SLEEP(0.2), 0)"; // the other one is not there
    }
    std::string ringing(std::int64_t bell) const override {
        return bell == 0 ? std::string{} : "KILL QUERY " + std::to_string(bell);
    }

    std::string
    front_text(relational::front_query which, const std::string& name, mode) const override {
        return mysql::front_text(which, how_.table, name);
    }

    std::vector<std::string> health_questions() const override {
        return {"SELECT @@version, @@innodb_flush_log_at_trx_commit, @@log_bin, @@sync_binlog,"
                " @@max_connections",
                "SHOW VARIABLES LIKE 'rpl_semi_sync_%_enabled'",
                "SHOW STATUS LIKE 'wsrep_cluster_size'"};
    }

    std::vector<finding> health(const std::vector<table>& told) const override {
        const auto& t = told.front();
        std::vector<finding> all;
        if (t.number(0, 1) != 1)
            all.push_back({grade::warning,
                           "grants are written to the disk about once a second: a power failure "
                           "forgets the last of them",
                           "innodb_flush_log_at_trx_commit = 1"});
        bool confirmed = false;
        for (std::size_t i = 0; i < told[1].rows(); ++i)
            confirmed = confirmed || told[1].text(i, 1) == "ON";
        if (t.number(0, 2) != 0 && !confirmed)
            all.push_back({grade::notice,
                           "if there are replicas, none of them must confirm: one that is promoted "
                           "may not know the last grants",
                           "rpl_semi_sync_master_enabled (MySQL: …_source_enabled) = ON, with a "
                           "time-out that is never "
                           "reached, and promote only a replica that confirms"});
        if (told[2].rows() > 0 && told[2].number(0, 1) > 1)
            all.push_back({grade::notice,
                           "this is a Galera cluster: all clients should write to the same node",
                           {}});
        all.push_back({grade::good, std::string{t.text(0, 0)}, {}});
        return all;
    }

private:
    [[nodiscard]] std::string bell_lock(std::int64_t client) const {
        return "'" + how_.table + "_" + std::to_string(client) + "'";
    }

    part_of<std::optional<trouble>> make_tables(std::shared_ptr<relational::line> line) {
        if (!how_.make_tables)
            co_return refused("there are no tables " + how_.table +
                              "_…: `holdfast schema URL` prints what makes them");
        auto making = line->say(mysql::schema(how_.table));
        const auto made = co_await making;
        const auto* wrong = std::get_if<trouble>(&made);
        if (wrong == nullptr)
            co_return std::nullopt;
        auto worse = *wrong;
        worse.what = trouble::kind::plain;
        worse.why.detail = "the tables " + how_.table + "_… cannot be made: " + worse.why.detail +
                           "; `holdfast schema URL` prints what makes them";
        co_return worse;
    }

    const sql::options how_;
    const capabilities able_;
};

std::unique_ptr<backend> open_url(const detail::engine_url& url) {
    return make(relational::options_of(engine, url.rest));
}

} // namespace

std::unique_ptr<backend> make(sql::options how) {
    relational::check(engine, how);
    auto kind = std::make_shared<mysql_database>(how);
    return std::make_unique<relational::sql_backend>(std::move(how), std::move(kind), usual_port);
}

sql::options options_of(std::string_view url) {
    return relational::options_of(engine, url.substr(std::min(url.find(':') + 1, url.size())));
}

std::string schema(const sql::options& how) {
    relational::check(engine, how);
    return mysql::schema(how.table);
}

} // namespace holdfast::mysql

extern "C" {
extern const holdfast::detail::engine_entry holdfast_engine_mysql;
const holdfast::detail::engine_entry holdfast_engine_mysql = &holdfast::mysql::open_url;
}
