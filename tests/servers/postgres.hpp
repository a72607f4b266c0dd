#pragma once

// A real PostgreSQL server of one test, see database.hpp. It has a role `holdfast`, which may log
// in and is nobody special, and a database `holdfast`, which that role owns.

#include "servers/certificates.hpp"
#include "servers/database.hpp"
#include "servers/need.hpp"

namespace holdfast::servers {

class postgres_server;

/// Whether the primary tells its clients of a commit before the replica has it.
enum class replication { asynchronous, synchronous };

struct postgres_options {
    encryption over = encryption::none;
    server_clock clock = server_clock::real;
    std::string password{};                      ///< of `holdfast`
    const postgres_server* replica_of = nullptr; ///< its primary
    replication commits = replication::asynchronous;
    std::vector<std::string> settings{}; ///< further lines of postgresql.conf
};

class postgres_server final : public database_server {
public:
    [[nodiscard]] static lack missing();

    /// Returns when it serves; as a replica, when it has all that its primary has.
    explicit postgres_server(postgres_options = {});
    ~postgres_server() override { kill(); }

    /// postgres://holdfast:password@127.0.0.1:port/holdfast, and no word of TLS.
    [[nodiscard]] std::string url() const;
    [[nodiscard]] const postgres_options& options() const noexcept { return options_; }

    /// All rows that the statements give, as `psql -At` prints them, without the last line's end.
    /// Each call has a connection of its own. Throws with the server's words, or when there is no
    /// answer within half a minute.
    // NOLINTNEXTLINE(modernize-use-nodiscard): many statements are orders, not questions
    std::string sql(const std::string& statements,
                    const std::string& database = "holdfast",
                    const std::string& user = "postgres") const;

    void promote(); ///< a replica becomes a primary; the one that it followed is not told

private:
    [[nodiscard]] std::string name() const; // by which its primary knows it
    void copy_primary() const;
    void follow_primary() const;
    void write_configuration() const override;
    [[nodiscard]] std::vector<std::string> command() const override;
    [[nodiscard]] bool answers() const override;
    [[nodiscard]] int orderly_end() const override;
    void forget_the_dead() const override;

    postgres_options options_;
};

} // namespace holdfast::servers
