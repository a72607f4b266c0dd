#pragma once

// A real PostgreSQL server of one test, see database.hpp. It has a role `holdfast`, which may log
// in and is nobody special, and a database `holdfast`, which that role owns.

#include "servers/certificates.hpp"
#include "servers/database.hpp"
#include "servers/need.hpp"

namespace holdfast::servers {

struct postgres_options {
    server_clock clock = server_clock::real;
    std::vector<std::string> settings{}; ///< further lines of postgresql.conf
};

class postgres_server final : public database_server {
public:
    [[nodiscard]] static lack missing();

    explicit postgres_server(postgres_options = {});
    ~postgres_server() override { kill(); }

    [[nodiscard]] std::string url() const; ///< postgres://holdfast@127.0.0.1:port/holdfast
    [[nodiscard]] const postgres_options& options() const noexcept { return options_; }

    /// All rows that the statements give, as `psql -At` prints them, without the last line's end.
    /// Each call has a connection of its own. Throws with the server's words, or when there is no
    /// answer within half a minute.
    // NOLINTNEXTLINE(modernize-use-nodiscard): many statements are orders, not questions
    std::string sql(const std::string& statements,
                    const std::string& database = "holdfast",
                    const std::string& user = "postgres") const;

private:
    void write_configuration() const override;
    [[nodiscard]] std::vector<std::string> command() const override;
    [[nodiscard]] bool answers() const override;
    [[nodiscard]] int orderly_end() const override;
    void forget_the_dead() const override;

    postgres_options options_;
};

} // namespace holdfast::servers
