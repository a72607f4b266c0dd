#pragma once

// A real MariaDB server of one test, see database.hpp. It has a database `holdfast` and a user
// `holdfast`, who may do everything there and nothing elsewhere.

#include "servers/certificates.hpp"
#include "servers/database.hpp"
#include "servers/need.hpp"

namespace holdfast::servers {

struct mariadb_options {
    server_clock clock = server_clock::real;
    std::vector<std::string> settings{}; ///< further lines of my.cnf
};

class mariadb_server final : public database_server {
public:
    [[nodiscard]] static lack missing();

    explicit mariadb_server(mariadb_options = {});
    ~mariadb_server() override { kill(); }

    [[nodiscard]] std::string url() const; ///< mysql://holdfast@127.0.0.1:port/holdfast
    [[nodiscard]] const mariadb_options& options() const noexcept { return options_; }

    /// All rows that the statements give: fields separated by |, rows by line ends, and nothing for
    /// NULL. Said by root; each call has a connection of its own. Throws with the server's words,
    /// or when there is no answer within half a minute.
    // NOLINTNEXTLINE(modernize-use-nodiscard): many statements are orders, not questions
    std::string sql(const std::string& statements, const std::string& database = "holdfast") const;

private:
    void write_configuration() const override;
    [[nodiscard]] std::vector<std::string> command() const override;
    [[nodiscard]] bool answers() const override;
    [[nodiscard]] int orderly_end() const override;

    mariadb_options options_;
};

} // namespace holdfast::servers
