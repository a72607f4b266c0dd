// PostgreSQL: what is said first, how it is listened to, and what is good or bad about a server.

#include "backends/postgres/dialect.hpp"
#include "backends/postgres/errors.hpp"
#include "backends/postgres/wire.hpp"
#include "backends/relational/backend.hpp"
#include "backends/relational/url.hpp"
#include "client/engine_entry.hpp"

#include <holdfast/postgres.hpp>

#include <algorithm>
#include <utility>

namespace holdfast::postgres {
namespace {

using relational::part_of;
using relational::table;
using relational::trouble;

constexpr const char* engine = "postgres";
constexpr int usual_port = 5432;

[[nodiscard]] capabilities abilities(const sql::options& how) {
    capabilities can;
    can.engine = engine;
    can.reach = reach::network;
    can.shared = true;
    can.permits = how.mode == sql::locking::lease; // the server knows nothing of them
    can.fair = true;
    can.lock_delay = true;
    can.keeps_while_stopped = how.mode != sql::locking::lease;
    can.fence_per_pass = true;
    can.raises_fences = true;
    can.fences = fence_grade::hybrid;
    can.ttl = ttl_scope::shared;
    can.wake = wake_by::hint;
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

// A statement that waits for a row waits a moment, and one that takes very long is ended: then what
// we sent and gave up cannot take effect much later.
constexpr std::pair<std::string_view, std::string_view> manners[] = {
    {"lock_timeout", "250ms"},
    {"statement_timeout", "8s"},
    {"default_transaction_isolation", "read committed"},
    {"default_transaction_read_only", "off"},
    {"standard_conforming_strings", "on"},
    {"plan_cache_mode", "force_generic_plan"}, // else each is planned anew for the first few times
    {"idle_in_transaction_session_timeout", "0"},
};

/// The state of the server, and our manners where this connection is our own. Behind a pooler it is
/// not, and its next user must not find them.
[[nodiscard]] std::string first_words(const std::string& table, std::int64_t session) {
    auto text = "SELECT pg_is_in_recovery(), current_setting('server_encoding'),"
                " current_setting('synchronous_commit'), pg_backend_pid(), to_regclass('" +
                table + "_meta') IS NOT NULL";
    for (const auto& [name, value] : manners)
        text.append(", CASE WHEN pg_backend_pid() = ")
            .append(std::to_string(session))
            .append(" THEN set_config('")
            .append(name)
            .append("', '")
            .append(value)
            .append("', false) END");
    return text;
}

using grade = finding::grade;

class postgres_database final : public relational::database {
public:
    explicit postgres_database(const sql::options& how) : how_{how}, able_{abilities(how)} {}

    const capabilities& able() const noexcept override { return able_; }

    std::unique_ptr<relational::wire> connect(const detail::endpoint& where,
                                              const std::string& number) override {
        return postgres::connect(how_, where, number);
    }

    part_of<std::optional<trouble>> greet(std::shared_ptr<relational::line> line) override {
        auto hello = line->say(first_words(how_.table, line->session()));
        const auto said = co_await hello;
        if (const auto* wrong = std::get_if<trouble>(&said))
            co_return *wrong;
        const auto& state = std::get<table>(said);
        if (state.text(0, 0) == "t")
            co_return trouble_of("25006", "");
        if (state.number(0, 3) != line->session())
            co_return refused(relational::a_pooler_answers);
        if (state.text(0, 1) != "UTF8" && state.text(0, 1) != "SQL_ASCII")
            co_return refused("the database's encoding is " + std::string{state.text(0, 1)} +
                              ", and names need UTF8");
        if (state.text(0, 2) == "off") {
            auto insists = line->say("SET synchronous_commit = on");
            const auto done = co_await insists;
            if (const auto* wrong = std::get_if<trouble>(&done))
                co_return *wrong;
        }
        if (state.text(0, 4) != "t") {
            auto making = make_tables(line);
            if (const auto wrong = co_await making)
                co_return wrong;
        }
        auto versions = line->say("SELECT max(version) FROM " + how_.table + "_meta; " +
                                  preparations(how_.table));
        const auto ready = co_await versions;
        if (const auto* wrong = std::get_if<trouble>(&ready))
            co_return *wrong;
        if (std::get<table>(ready).number(0, 0) != relational::schema_version)
            co_return refused("the tables " + how_.table + "_… are of another version of holdfast");
        co_return std::nullopt;
    }

    std::string listening(std::int64_t client) const override {
        return "LISTEN " + channel(how_.table, client);
    }

    std::string
    front_text(relational::front_query which, const std::string& name, mode how) const override {
        return postgres::front_text(which, how_.table, name, how);
    }

    std::vector<std::string> health_questions() const override {
        return {"SELECT current_setting('server_version'), current_setting('fsync'),"
                " current_setting('synchronous_standby_names'), current_setting('max_connections'),"
                " (SELECT count(*) FROM pg_stat_replication),"
                " current_setting('full_page_writes'),"
                " (extract(epoch FROM clock_timestamp()) * 1000)::bigint"};
    }

    std::vector<finding> health(const std::vector<table>& told) const override {
        const auto& t = told.front();
        std::vector<finding> all;
        if (t.text(0, 1) != "on")
            all.push_back({grade::warning,
                           "fsync is off: a power failure may damage the database, and with it all "
                           "locks",
                           "fsync = on"});
        if (t.number(0, 4) > 0 && t.text(0, 2).empty())
            all.push_back(
                {grade::warning,
                 "there are replicas, and none of them must confirm: one that is promoted "
                 "may not know the last grants",
                 "synchronous_standby_names = 'ANY 1 (*)', and promote only a "
                 "synchronous one"});
        all.push_back({grade::good, "PostgreSQL " + std::string{t.text(0, 0)}, {}});
        if (!t.text(0, 2).empty())
            all.push_back({grade::good, "replicas confirm what is granted", {}});
        return all;
    }

private:
    // One at a time, or two would trip over each other.
    part_of<std::optional<trouble>> make_tables(std::shared_ptr<relational::line> line) {
        if (!how_.make_tables)
            co_return refused("there are no tables " + how_.table +
                              "_…: `holdfast schema URL` prints what makes them");
        auto text = "BEGIN; SELECT pg_advisory_xact_lock(8028914789204517731);" +
                    postgres::schema(how_.table) + "COMMIT";
        auto making = line->say(std::move(text));
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

/// In quotes, of which those in it are doubled.
[[nodiscard]] std::string as_name(const std::string& text) {
    std::string made{'"'};
    for (const char c : text)
        made.append(c == '"' ? 2 : 1, c);
    return made + '"';
}

std::unique_ptr<backend> open_url(const detail::engine_url& url) {
    return make(relational::options_of(engine, url.rest));
}

} // namespace

std::unique_ptr<backend> make(sql::options how) {
    relational::check(engine, how);
    auto kind = std::make_shared<postgres_database>(how);
    return std::make_unique<relational::sql_backend>(std::move(how), std::move(kind), usual_port);
}

sql::options options_of(std::string_view url) {
    return relational::options_of(engine, url.substr(std::min(url.find(':') + 1, url.size())));
}

// What somebody else makes is not yet ours to use.
std::string schema(const sql::options& how) {
    relational::check(engine, how);
    auto text = postgres::schema(how.table);
    if (!how.user.empty())
        text += relational::filled("GRANT SELECT, INSERT, UPDATE, DELETE ON {lock}, {line}, {bond},"
                                   " {row}, {meta} TO ",
                                   how.table,
                                   "") +
                as_name(how.user) + ";\n";
    return text;
}

} // namespace holdfast::postgres

extern "C" {
extern const holdfast::detail::engine_entry holdfast_engine_postgres;
const holdfast::detail::engine_entry holdfast_engine_postgres = &holdfast::postgres::open_url;
}
