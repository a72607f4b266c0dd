#include "backends/postgres/wire.hpp"
#include "backends/postgres/dialect.hpp"
#include "backends/postgres/errors.hpp"
#include "runtime/assert.hpp"

#include <algorithm>
#include <array>
#include <libpq-fe.h>

namespace holdfast::postgres {
namespace {

using relational::answer;
using relational::octets;
using relational::one_of;
using relational::parameter;
using relational::progress;
using relational::query;
using relational::statement;
using relational::table;
using relational::trouble;

constexpr Oid as_number = 20, as_text = 25, as_octets = 17, as_numbers = 1016;

/// Sent all the time, with what they are called in the server and the types of what they are given.
struct prepared {
    query which;
    const char* name;
    const char* types;
};
constexpr prepared hot[] = {
    {query::take, "holdfast_take", "text, bytea, bigint"},
    {query::retake, "holdfast_retake", "text, bytea, bigint"},
    {query::take_beside,
     "holdfast_take_beside",
     "text, bytea, bigint, bigint, bigint, bigint, bytea"},
    {query::join, "holdfast_join", "text, bytea, bigint, bigint, bigint, bigint, bigint"},
    {query::look, "holdfast_look", "text, bytea"},
    {query::admit, "holdfast_admit", "text, bytea, bigint, bigint, bigint"},
    {query::release, "holdfast_release", "text, bytea, bigint, bigint"},
    {query::release_unwanted, "holdfast_release_unwanted", "text, bytea"},
    {query::leave, "holdfast_leave", "text, bytea, bigint"},
};

[[nodiscard]] const char* prepared_name(query which) {
    const auto found = std::ranges::find(hot, which, &prepared::which);
    return found == std::end(hot) ? nullptr : found->name;
}

/// The parameters of one statement as libpq wants them.
class parameters {
public:
    explicit parameters(const std::vector<parameter>& all) {
        HOLDFAST_ASSERT(all.size() <= most, "no statement has so many parameters");
        for (const auto& one : all) {
            std::visit([this](const auto& value) { add(value); }, one);
            ++count;
        }
        for (std::size_t i = 0; i < count; ++i)
            values[i] = missing[i] ? nullptr : texts[i].c_str();
    }

    static constexpr std::size_t most = 8;
    std::size_t count = 0;
    std::array<Oid, most> types{};
    std::array<const char*, most> values{};
    std::array<int, most> lengths{};
    std::array<int, most> formats{};

private:
    void add(std::int64_t value) { put(as_number, std::to_string(value), 0); }
    void add(const std::string& value) { put(as_text, value, 0); }
    void add(const octets& value) {
        put(as_octets, value.raw, 1);
        missing[count] = value.raw.empty();
    }
    void add(const one_of& value) {
        std::string list = "{";
        for (const auto id : value.ids)
            list.append(list.size() > 1 ? "," : "").append(std::to_string(id));
        put(as_numbers, list + "}", 0);
    }
    void put(Oid type, std::string text, int format) {
        types[count] = type;
        texts[count] = std::move(text);
        lengths[count] = static_cast<int>(texts[count].size());
        formats[count] = format;
    }

    std::array<std::string, most> texts{};
    std::array<bool, most> missing{};
};

[[nodiscard]] int hex_digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

[[nodiscard]] std::string bytes_of(std::string_view text) {
    std::string raw;
    for (std::size_t i = 2; i + 1 < text.size(); i += 2) // after \x
        raw.push_back(static_cast<char>(hex_digit(text[i]) * 16 + hex_digit(text[i + 1])));
    return raw;
}

[[nodiscard]] table read(const PGresult* from) {
    const int rows = PQntuples(from), columns = PQnfields(from);
    table made{static_cast<std::size_t>(columns)};
    for (int r = 0; r < rows; ++r)
        for (int c = 0; c < columns; ++c) {
            if (PQgetisnull(from, r, c) != 0) {
                made.add(std::nullopt);
                continue;
            }
            const std::string_view cell{PQgetvalue(from, r, c),
                                        static_cast<std::size_t>(PQgetlength(from, r, c))};
            made.add(PQftype(from, c) == as_octets ? bytes_of(cell) : std::string{cell});
        }
    return made;
}

class libpq_wire final : public relational::wire {
public:
    libpq_wire(const sql::options& how, const detail::endpoint& where, const std::string& number)
        : prefix_{how.table} {
        const auto port = std::to_string(where.port);
        const auto& tls = how.tls;
        const char* const trusted =
            !tls.ca_file.empty() ? tls.ca_file.c_str() : "/etc/ssl/certs/ca-certificates.crt";
        const char* const keys[] = {"host",
                                    "hostaddr",
                                    "port",
                                    "user",
                                    "password",
                                    "dbname",
                                    "application_name",
                                    "client_encoding",
                                    "gssencmode",
                                    "sslmode",
                                    "sslrootcert",
                                    "sslcert",
                                    "sslkey",
                                    "keepalives_idle",
                                    "tcp_user_timeout",
                                    nullptr};
        const char* const values[] = {where.host.c_str(),
                                      where.port == 0 ? nullptr : number.c_str(),
                                      where.port == 0 ? nullptr : port.c_str(),
                                      how.user.empty() ? nullptr : how.user.c_str(),
                                      how.password.empty() ? nullptr : how.password.c_str(),
                                      how.database.empty() ? nullptr : how.database.c_str(),
                                      "holdfast",
                                      "UTF8",
                                      "disable",
                                      !tls.wanted  ? "disable"
                                      : tls.verify ? "verify-full"
                                                   : "require",
                                      tls.wanted && tls.verify ? trusted : nullptr,
                                      tls.certificate_file.empty() ? nullptr
                                                                   : tls.certificate_file.c_str(),
                                      tls.key_file.empty() ? nullptr : tls.key_file.c_str(),
                                      "30",
                                      "10000",
                                      nullptr};
        connection_ = PQconnectStartParams(keys, values, 0);
        if (connection_ == nullptr)
            return;
        PQsetErrorVerbosity(connection_, PQERRORS_VERBOSE); // with the SQLSTATE
        PQsetNoticeReceiver(connection_, &on_notice, this);
        if (PQstatus(connection_) == CONNECTION_BAD)
            fail();
    }
    ~libpq_wire() override {
        PQclear(result_);
        PQfinish(connection_);
    }

    int descriptor() const noexcept override { return PQsocket(connection_); }
    std::int64_t session() const noexcept override { return PQbackendPID(connection_); }
    std::optional<trouble> failed() const override { return trouble_; }

    progress advance() override {
        if (trouble_)
            return progress::done;
        switch (PQconnectPoll(connection_)) {
        case PGRES_POLLING_READING:
            return progress::wants_to_read;
        case PGRES_POLLING_OK:
            PQsetnonblocking(connection_, 1);
            PQsetErrorVerbosity(connection_, PQERRORS_DEFAULT);
            return progress::done;
        case PGRES_POLLING_FAILED:
            fail();
            return progress::done;
        default:
            return progress::wants_to_write;
        }
    }

    progress send(const statement& s) override {
        PQclear(std::exchange(result_, nullptr));
        trouble_.reset();
        in_doubt_ = false;
        const parameters with{s.with};
        const auto count = static_cast<int>(with.count);
        int sent = 0;
        if (s.what == query::none)
            sent = PQsendQuery(connection_, s.text.c_str());
        else if (const char* const name = prepared_name(s.what); name != nullptr)
            sent = PQsendQueryPrepared(connection_,
                                       name,
                                       count,
                                       with.values.data(),
                                       with.lengths.data(),
                                       with.formats.data(),
                                       0);
        else
            sent = PQsendQueryParams(connection_,
                                     text_of(s.what, prefix_).c_str(),
                                     count,
                                     with.types.data(),
                                     with.values.data(),
                                     with.lengths.data(),
                                     with.formats.data(),
                                     0);
        if (sent == 0) {
            trouble_ = trouble_of("", PQerrorMessage(connection_));
            return progress::done;
        }
        flushed_ = false;
        return proceed(false, true);
    }

    progress proceed(bool readable, bool) override {
        if (!flushed_) {
            const int left = PQflush(connection_);
            if (left < 0)
                return cut();
            flushed_ = left == 0;
        }
        if (readable && PQconsumeInput(connection_) == 0)
            return cut();
        while (PQisBusy(connection_) == 0) {
            PGresult* const next = PQgetResult(connection_);
            if (next == nullptr)
                return progress::done;
            keep(next);
        }
        return flushed_ ? progress::wants_to_read : progress::wants_to_write;
    }

    answer take() override {
        if (trouble_)
            return *std::exchange(trouble_, {});
        if (in_doubt_) // the server gave up waiting for its replicas: it stands here, and only here
            return trouble{trouble::kind::plain,
                           {make_error_code(errc::backend_unavailable),
                            applied::maybe,
                            "the server's replicas have not confirmed it"}};
        return result_ == nullptr ? table{} : read(result_);
    }

    bool listen(std::vector<relational::whisper>& heard) override {
        if (PQconsumeInput(connection_) == 0)
            return false;
        while (PGnotify* const one = PQnotifies(connection_)) {
            heard.emplace_back(one->extra);
            PQfreemem(one);
        }
        return PQstatus(connection_) == CONNECTION_OK;
    }

private:
    void fail() { trouble_ = no_connection(PQerrorMessage(connection_)); }

    progress cut() {
        trouble_ = trouble_of("", PQerrorMessage(connection_));
        return progress::done;
    }

    // Of several results the last that has rows; of several errors the first.
    void keep(PGresult* next) {
        switch (PQresultStatus(next)) {
        case PGRES_TUPLES_OK:
            PQclear(std::exchange(result_, next));
            return;
        case PGRES_COMMAND_OK:
        case PGRES_EMPTY_QUERY:
            break;
        default:
            if (!trouble_) {
                const char* const state = PQresultErrorField(next, PG_DIAG_SQLSTATE);
                const char* const words = PQresultErrorField(next, PG_DIAG_MESSAGE_PRIMARY);
                trouble_ = trouble_of(state != nullptr ? state : "",
                                      words != nullptr ? words : PQresultErrorMessage(next));
            }
        }
        PQclear(next);
    }

    static void on_notice(void* self, const PGresult* what) {
        const char* const words = PQresultErrorField(what, PG_DIAG_MESSAGE_PRIMARY);
        if (words != nullptr &&
            std::string_view{words}.find("synchronous replication") != std::string_view::npos)
            static_cast<libpq_wire*>(self)->in_doubt_ = true;
    }

    const std::string prefix_;
    PGconn* connection_ = nullptr;
    PGresult* result_ = nullptr;
    std::optional<trouble> trouble_;
    bool flushed_ = true;
    bool in_doubt_ = false;
};

} // namespace

std::unique_ptr<relational::wire>
connect(const sql::options& how, const detail::endpoint& where, const std::string& number) {
    return std::make_unique<libpq_wire>(how, where, number);
}

std::string preparations(std::string_view prefix) {
    std::string all;
    for (const auto& one : hot)
        all.append("PREPARE ")
            .append(one.name)
            .append(" (")
            .append(one.types)
            .append(") AS ")
            .append(text_of(one.which, prefix))
            .append("; ");
    return all;
}

} // namespace holdfast::postgres
