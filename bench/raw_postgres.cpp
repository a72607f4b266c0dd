#include "raw_postgres.hpp"

#include <array>
#include <cstdlib>
#include <libpq-fe.h>

namespace bench {
namespace {

struct cleared {
    void operator()(PGresult* what) const noexcept { PQclear(what); }
};
using result = std::unique_ptr<PGresult, cleared>;

class libpq_connection final : public raw_sql {
public:
    libpq_connection(std::uint16_t port, const std::string& user, const std::string& database)
        : connection_{PQconnectdb(("host=127.0.0.1 sslmode=disable gssencmode=disable port=" +
                                   std::to_string(port) + " user=" + user + " dbname=" + database)
                                      .c_str())} {}
    ~libpq_connection() override { PQfinish(connection_); }

    [[nodiscard]] bool is_open() const { return PQstatus(connection_) == CONNECTION_OK; }

    void prepare(std::string holder) {
        holder_ = std::move(holder);
        statement("take",
                  "UPDATE raw_lock SET fence = fence + 1, holder = $2,"
                  " lease_until = now() + interval '30 seconds'"
                  " WHERE name = $1 AND (holder IS NULL OR lease_until <= now()) RETURNING fence");
        statement("release", "UPDATE raw_lock SET holder = NULL WHERE name = $1 AND holder = $2");
        statement("shed_take",
                  "UPDATE shedlock SET lock_until = timezone('utc', now()) + interval '30 seconds',"
                  " locked_at = timezone('utc', now()), locked_by = $2"
                  " WHERE name = $1 AND lock_until <= timezone('utc', now())");
        statement("shed_release",
                  "UPDATE shedlock SET lock_until = timezone('utc', now())"
                  " WHERE name = $1 AND locked_by = $2");
        statement("round_trip", "SELECT 1");
        statement("commit", "UPDATE raw_lock SET fence = fence + 1 WHERE name = $1");
    }

    std::int64_t take(const std::string& name) override {
        const auto got = run("take", 2, name);
        return PQntuples(got.get()) == 1 ? std::atoll(PQgetvalue(got.get(), 0, 0)) : 0;
    }
    bool release(const std::string& name) override { return changed(run("release", 2, name)); }
    bool shed_take() override { return changed(run("shed_take", 2, shed_name)); }
    bool shed_release() override { return changed(run("shed_release", 2, shed_name)); }
    void round_trip() override { static_cast<void>(run("round_trip", 0, {})); }
    void commit() override { check(changed(run("commit", 1, "commit")), "the row is there"); }

    std::string ask(const std::string& text) override {
        const auto got = checked(PQexec(connection_, text.c_str()));
        const int rows = PQntuples(got.get()), columns = PQnfields(got.get());
        return rows == 0 ? std::string{} : PQgetvalue(got.get(), rows - 1, columns - 1);
    }

private:
    void statement(const char* name, const char* text) {
        static_cast<void>(checked(PQprepare(connection_, name, text, 0, nullptr)));
    }
    result run(const char* statement, int parameters, const std::string& name) {
        const std::array values{name.c_str(), holder_.c_str()};
        return checked(
            PQexecPrepared(connection_, statement, parameters, values.data(), nullptr, nullptr, 0));
    }
    result checked(PGresult* got) const {
        const auto status = PQresultStatus(got);
        if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
            check(false, PQerrorMessage(connection_));
        return result{got};
    }
    static bool changed(const result& what) {
        return std::string_view{PQcmdTuples(what.get())} == "1";
    }

    PGconn* connection_;
    std::string holder_;
};

} // namespace

std::unique_ptr<raw_sql>
raw_postgres(std::uint16_t port, const std::string& user, const std::string& holder) {
    auto made = std::make_unique<libpq_connection>(port, user, "holdfast");
    check(made->is_open(), "PostgreSQL can be reached");
    made->prepare(holder);
    return made;
}

std::unique_ptr<raw_sql>
try_raw_postgres(std::uint16_t port, const std::string& user, const std::string& database) {
    auto made = std::make_unique<libpq_connection>(port, user, database);
    return made->is_open() ? std::move(made) : nullptr;
}

std::string raw_postgres_tables() {
    return "CREATE TABLE raw_lock (name text PRIMARY KEY, fence bigint NOT NULL DEFAULT 0,"
           " holder text, lease_until timestamptz NOT NULL DEFAULT now()) WITH (fillfactor = 50);"
           "INSERT INTO raw_lock SELECT 'raw/' || i FROM generate_series(0, " +
           std::to_string(raw_names - 1) +
           ") i; INSERT INTO raw_lock VALUES ('commit');"
           "CREATE TABLE shedlock (name varchar(64) PRIMARY KEY, lock_until timestamp NOT NULL,"
           " locked_at timestamp NOT NULL, locked_by varchar(255) NOT NULL)"
           " WITH (fillfactor = 50);"
           "INSERT INTO shedlock VALUES ('shed', 'epoch', 'epoch', '')";
}

} // namespace bench
