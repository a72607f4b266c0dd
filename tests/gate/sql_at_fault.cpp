#include "gate/sql_at_fault.hpp"
#include "servers/mariadb.hpp"
#include "servers/mariadb_link.hpp"
#include "servers/postgres.hpp"
#include "servers/postgres_link.hpp"

#include <stdexcept>

namespace holdfast::servers {
namespace {

template <class Link> class session_over final : public session {
public:
    explicit session_over(Link link) : link_{std::move(link)} {}
    std::string ask(const std::string& statements) override { return link_.ask(statements); }

private:
    Link link_;
};

[[nodiscard]] std::unique_ptr<session> to_postgres(const std::string& url) {
    return std::make_unique<session_over<postgres_link>>(postgres_link{url});
}

[[nodiscard]] std::unique_ptr<session> to_mariadb(const std::string& unix_socket) {
    return std::make_unique<session_over<mariadb_link>>(
        mariadb_link{{.unix_socket = unix_socket, .user = "root"}});
}

class postgres_at_fault final : public sql_server {
public:
    explicit postgres_at_fault(const sql_server_options& how) : server_{options_of(how)} {}

    database_server& process() override { return server_; }
    std::string url() const override { return server_.url(); }
    std::string way_in() const override {
        return "postgres://postgres@" + server_.address() + "/holdfast";
    }
    std::unique_ptr<session> connect() const override { return to_postgres(way_in()); }
    void promote() override { server_.promote(); }
    void cut_all_users() const override {
        sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'holdfast'");
    }
    bool somebody_waits_for_a_row() const override {
        return number("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") > 0;
    }

private:
    static postgres_options options_of(const sql_server_options& how) {
        postgres_options all{.clock = how.clock};
        if (how.replica_of != nullptr) {
            all.replica_of = &static_cast<const postgres_at_fault*>(how.replica_of)->server_;
            all.commits = replication::synchronous;
        }
        return all;
    }

    postgres_server server_;
};

class mariadb_at_fault final : public sql_server {
public:
    explicit mariadb_at_fault(const sql_server_options& how) : server_{options_of(how)} {
        if (how.replica_of != nullptr)
            confirm_for(*how.replica_of);
    }

    database_server& process() override { return server_; }
    std::string url() const override { return server_.url(); }
    std::string way_in() const override { return server_.unix_socket(); }
    std::unique_ptr<session> connect() const override { return to_mariadb(way_in()); }
    void promote() override { server_.promote(); }
    void cut_all_users() const override {
        sql("KILL USER holdfast"); // and nobody else
    }
    bool somebody_waits_for_a_row() const override {
        return number("SELECT variable_value FROM information_schema.global_status"
                      " WHERE variable_name = 'Innodb_row_lock_current_waits'") > 0;
    }

private:
    static mariadb_options options_of(const sql_server_options& how) {
        mariadb_options all{.clock = how.clock};
        if (how.has_replicas)
            all.changes = binary_log::kept;
        if (how.replica_of != nullptr) {
            all.replica_of = &static_cast<const mariadb_at_fault*>(how.replica_of)->server_;
            all.settings = {"rpl_semi_sync_slave_enabled = ON"};
        }
        return all;
    }

    /// From now on the primary answers when we have what it has done, and never before.
    static void confirm_for(const sql_server& primary) {
        primary.sql("SET GLOBAL rpl_semi_sync_master_timeout = 3600000");
        primary.sql("SET GLOBAL rpl_semi_sync_master_enabled = ON");
        const std::string question =
            "SELECT count(*) FROM information_schema.global_status"
            " WHERE variable_name = 'RPL_SEMI_SYNC_MASTER_CLIENTS' AND variable_value = 1";
        if (!eventually([&] { return primary.number(question) == 1; }))
            throw std::runtime_error{"the replica does not confirm"};
    }

    mariadb_server server_;
};

template <class Server> std::unique_ptr<sql_server> start(const sql_server_options& how) {
    return std::make_unique<Server>(how);
}

} // namespace

std::string sql_server::url_by(const std::string& hosts) const {
    const auto direct = url();
    const auto from = direct.find('@') + 1;
    return direct.substr(0, from) + hosts + direct.substr(direct.find('/', from));
}

const std::vector<sql_engine>& sql_engines() {
    static const std::vector<sql_engine> all{
        {"postgres",
         sql::dialect::postgres,
         "division by zero",
         postgres_server::missing,
         start<postgres_at_fault>,
         to_postgres},
        {"mysql",
         sql::dialect::mysql,
         "Subquery returns more than 1 row",
         mariadb_server::missing,
         start<mariadb_at_fault>,
         to_mariadb},
    };
    return all;
}

const sql_engine& sql_engine_called(const std::string& name) {
    for (const auto& one : sql_engines())
        if (one.name == name)
            return one;
    throw std::runtime_error{"there is no engine " + name};
}

lease get(mutex& from, const acquire_options& how) {
    const auto give_up = boot_clock::now() + patience;
    for (;;)
        try {
            return from.acquire(how);
        } catch (const std::system_error& e) {
            if (e.code() != condition::try_again || boot_clock::now() > give_up)
                throw;
        }
}

} // namespace holdfast::servers
