#include "raw_mysql.hpp"

#include <mysql.h>

namespace bench {
namespace {

struct freed {
    void operator()(MYSQL_RES* what) const noexcept { mysql_free_result(what); }
};
using result = std::unique_ptr<MYSQL_RES, freed>;

class libmariadb_connection final : public raw_sql {
public:
    libmariadb_connection(const char* socket, std::uint16_t port, std::string holder)
        : holder_{"'" + std::move(holder) + "'"} {
        mysql_init(&connection_);
        is_open_ = mysql_real_connect(&connection_,
                                      socket == nullptr ? "127.0.0.1" : nullptr,
                                      socket == nullptr ? "holdfast" : "root",
                                      "",
                                      socket == nullptr ? "holdfast" : nullptr,
                                      port,
                                      socket,
                                      CLIENT_MULTI_STATEMENTS) != nullptr;
    }
    ~libmariadb_connection() override { mysql_close(&connection_); }

    [[nodiscard]] bool is_open() const noexcept { return is_open_; }

    std::int64_t take(const std::string& name) override {
        const auto changed =
            run("UPDATE raw_lock SET fence = LAST_INSERT_ID(fence + 1), holder = " + holder_ +
                ", lease_until = NOW(6) + INTERVAL 30 SECOND" + " WHERE name = '" + name +
                "' AND (holder IS NULL OR lease_until <= NOW(6))");
        return changed == 1 ? static_cast<std::int64_t>(mysql_insert_id(&connection_)) : 0;
    }
    bool release(const std::string& name) override {
        return run("UPDATE raw_lock SET holder = NULL WHERE name = '" + name +
                   "' AND holder = " + holder_) == 1;
    }
    bool shed_take() override {
        return run("UPDATE shedlock SET lock_until = UTC_TIMESTAMP(3) + INTERVAL 30 SECOND,"
                   " locked_at = UTC_TIMESTAMP(3), locked_by = " +
                   holder_ + " WHERE name = 'shed' AND lock_until <= UTC_TIMESTAMP(3)") == 1;
    }
    bool shed_release() override {
        return run("UPDATE shedlock SET lock_until = UTC_TIMESTAMP(3)"
                   " WHERE name = 'shed' AND locked_by = " +
                   holder_) == 1;
    }
    void round_trip() override { ask("SELECT 1"); }
    void commit() override {
        check(run("UPDATE raw_lock SET fence = fence + 1 WHERE name = 'commit'") == 1,
              "the row is there");
    }

    std::string ask(const std::string& text) override {
        run(text);
        std::string found;
        for (int more = 0; more == 0; more = mysql_next_result(&connection_)) {
            const result got{mysql_store_result(&connection_)};
            if (!got)
                check(mysql_errno(&connection_) == 0, mysql_error(&connection_));
            while (MYSQL_ROW row = got ? mysql_fetch_row(got.get()) : nullptr)
                if (const char* const last = row[mysql_num_fields(got.get()) - 1])
                    found = last;
        }
        check(mysql_errno(&connection_) == 0, mysql_error(&connection_));
        return found;
    }

private:
    /// How many rows were changed, if it is such a statement.
    std::uint64_t run(const std::string& text) {
        if (mysql_real_query(&connection_, text.data(), text.size()) != 0)
            check(false, mysql_error(&connection_));
        return mysql_affected_rows(&connection_);
    }

    MYSQL connection_{};
    bool is_open_ = false;
    std::string holder_;
};

} // namespace

std::unique_ptr<raw_sql> raw_mysql(std::uint16_t port, const std::string& holder) {
    auto made = std::make_unique<libmariadb_connection>(nullptr, port, holder);
    check(made->is_open(), "MariaDB can be reached");
    return made;
}

std::unique_ptr<raw_sql> try_raw_mysql(const std::string& socket) {
    auto made = std::make_unique<libmariadb_connection>(socket.c_str(), std::uint16_t{0}, "root");
    return made->is_open() ? std::move(made) : nullptr;
}

std::string raw_mysql_tables() {
    std::string names = "('commit')";
    for (std::size_t i = 0; i < raw_names; ++i)
        names += ",('" + raw_name(i) + "')";
    return "CREATE TABLE raw_lock (name VARBINARY(64) PRIMARY KEY, fence BIGINT NOT NULL DEFAULT 0,"
           " holder VARBINARY(64), lease_until DATETIME(6) NOT NULL DEFAULT '1970-01-01');"
           "INSERT INTO raw_lock (name) VALUES " +
           names +
           ";CREATE TABLE shedlock (name VARCHAR(64) PRIMARY KEY, lock_until DATETIME(3) NOT NULL,"
           " locked_at DATETIME(3) NOT NULL, locked_by VARCHAR(255) NOT NULL);"
           "INSERT INTO shedlock VALUES ('shed', '1970-01-01', '1970-01-01', '')";
}

} // namespace bench
