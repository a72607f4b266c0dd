#pragma once

#include <cstdint>
#include <memory>
#include <string>

struct st_mysql;

namespace holdfast::servers {

struct mariadb_address {
    std::uint16_t port = 0;    ///< on 127.0.0.1
    std::string unix_socket{}; ///< instead of a port
    std::string user = "holdfast";
    std::string password{};
    std::string database = "holdfast";
    std::string authority{};                      ///< if any, over TLS, with a server that it knows
    std::string certificate{}, certificate_key{}; ///< of the client
};

/// A connection of a test's own to MariaDB, with its session: transactions, locks.
class mariadb_link {
public:
    /// Throws with the server's words.
    explicit mariadb_link(const mariadb_address&);

    /// All rows that the statements give: fields separated by |, rows by line ends, and nothing for
    /// NULL. Throws with the server's words, or when there is no answer within half a minute.
    // NOLINTNEXTLINE(modernize-use-nodiscard): many statements are orders, not questions
    std::string ask(const std::string& statements) const;

    /// One field of the first row, for statements such as SHOW, which cannot be asked for it alone.
    [[nodiscard]] std::string ask_for(const std::string& column,
                                      const std::string& statement) const;

private:
    struct closing {
        void operator()(st_mysql*) const;
    };
    std::unique_ptr<st_mysql, closing> to_;
};

} // namespace holdfast::servers
