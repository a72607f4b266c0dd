#pragma once

// A real MariaDB server of one test, see database.hpp. It has a database `holdfast` and a user
// `holdfast`, who may do everything there and nothing elsewhere.

#include "servers/certificates.hpp"
#include "servers/database.hpp"
#include "servers/mariadb_link.hpp"
#include "servers/need.hpp"

namespace holdfast::servers {

class mariadb_server;

/// From which replicas learn what happens.
enum class binary_log { none, kept };

struct mariadb_options {
    encryption over = encryption::none;
    server_clock clock = server_clock::real;
    std::string password{}; ///< of `holdfast`
    binary_log changes = binary_log::none;
    const mariadb_server* replica_of = nullptr; ///< its primary, which keeps a binary log
    std::vector<std::string> settings{};        ///< further lines of my.cnf
};

class mariadb_server final : public database_server {
public:
    [[nodiscard]] static lack missing();

    /// Returns when it serves; as a replica, when it has all that its primary has.
    explicit mariadb_server(mariadb_options = {});
    ~mariadb_server() override { kill(); }

    /// mysql://holdfast:password@127.0.0.1:port/holdfast, and no word of TLS.
    [[nodiscard]] std::string url() const;
    [[nodiscard]] std::string unix_socket() const { return room() / "socket"; }
    [[nodiscard]] const mariadb_options& options() const noexcept { return options_; }

    /// All rows that the statements give: fields separated by |, rows by line ends, and nothing for
    /// NULL. Said by root; each call has a connection of its own. Throws with the server's words,
    /// or when there is no answer within half a minute.
    // NOLINTNEXTLINE(modernize-use-nodiscard): many statements are orders, not questions
    std::string sql(const std::string& statements, const std::string& database = "holdfast") const;

    /// A replica becomes a primary, with all that it was told; the one that it followed is not
    /// told.
    void promote();

private:
    void make_users() const;
    void follow_primary() const;
    void wait_for(const std::string& position) const;
    [[nodiscard]] mariadb_link root(const std::string& database) const;
    void write_configuration() const override;
    [[nodiscard]] std::vector<std::string> command() const override;
    [[nodiscard]] bool answers() const override;
    [[nodiscard]] int orderly_end() const override;

    mariadb_options options_;
    bool follows_ = options_.replica_of != nullptr;
};

} // namespace holdfast::servers
