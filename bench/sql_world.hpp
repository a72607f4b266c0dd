#pragma once

// Who takes part when databases are measured: a real server of our own, and the locks of others.

#include "raw_sql.hpp"
#include "scratch.hpp"
#include "world.hpp"

#include <holdfast/sql.hpp>

namespace bench {

/// One server, as it comes: data on the disk, and every commit forced to it.
class sql_server {
public:
    sql_server() = default;
    sql_server(const sql_server&) = delete;
    sql_server& operator=(const sql_server&) = delete;
    virtual ~sql_server() = default;

    [[nodiscard]] virtual const program& running() const noexcept = 0;
    [[nodiscard]] virtual std::string product() const = 0;
    [[nodiscard]] virtual std::string version() const = 0;
    /// `port`: the server's own, or that of somebody in between.
    [[nodiscard]] virtual std::string url(std::uint16_t port) const = 0;
    [[nodiscard]] virtual std::unique_ptr<raw_sql> connect(const std::string& holder) const = 0;
    /// The lock of this server's own, as Python has it.
    [[nodiscard]] virtual const char* in_python() const noexcept = 0;

    /// How many statements it was asked so far; negative if it does not tell at once.
    [[nodiscard]] virtual double requests() const { return -1; }
    /// So many connections a client of ours has for requests.
    [[nodiscard]] std::size_t as_many() const {
        return holdfast::sql::options{}.connections - for_itself();
    }
    /// So many statements, each committed, a hand-off may take; no limit, if none.
    [[nodiscard]] virtual std::optional<double> hand_off_trips() const { return std::nullopt; }

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

protected:
    /// With which a client renews and listens.
    [[nodiscard]] virtual std::size_t for_itself() const noexcept = 0;

    std::uint16_t port_ = free_port();
};

[[nodiscard]] std::unique_ptr<sql_server> start_postgres();
[[nodiscard]] std::unique_ptr<sql_server> start_mariadb();

class sql_world : public world {
public:
    explicit sql_world(std::unique_ptr<sql_server>);

    std::unique_ptr<sql_server> server;
    std::unique_ptr<peer> python, second_python;

    /// With the database in front.
    [[nodiscard]] std::string work(const std::string& what) const {
        return server->product() + ": " + what;
    }
    /// So many, whose holders are told apart.
    [[nodiscard]] std::vector<std::unique_ptr<raw_sql>> connect(std::size_t how_many) const;
};

void sql_alone(sql_world&, const effort&, findings&);
void sql_apart(sql_world&, const effort&, findings&);
void sql_one_name(sql_world&, const effort&, findings&);
void sql_at_rest(sql_world&, const effort&, findings&);

} // namespace bench
