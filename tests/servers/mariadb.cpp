#include "servers/mariadb.hpp"
#include "servers/mariadb_link.hpp"

#include <csignal>
#include <fstream>
#include <stdexcept>
#include <unistd.h>

namespace holdfast::servers {
namespace {

using words = std::vector<std::string>;

constexpr const char* server_binary = "/usr/sbin/mariadbd"; // not in everybody's PATH

/// What says how large its files are has to be the same when they are made and when they are used.
const words& small_files() {
    static const words all{"innodb-data-file-path=ibdata1:1M:autoextend",
                           "innodb-temp-data-file-path=ibtmp1:1M:autoextend",
                           "innodb-autoextend-increment=1",
                           "innodb-log-file-size=4M",
                           "innodb-buffer-pool-size=32M"};
    return all;
}

/// A data folder as each server's begins.
std::string prototype() {
    words install{"mariadb-install-db",
                  "--no-defaults",
                  "--auth-root-authentication-method=normal",
                  "--skip-test-db",
                  "--skip-name-resolve"};
    for (const auto& one : small_files())
        install.push_back("--" + one);
    if (::geteuid() == 0)
        install.emplace_back("--user=root");
    static const auto version = call_or_throw({server_binary, "--version"});
    auto recipe = version;
    for (const auto& word : install)
        recipe += ' ' + word;
    return made_once("mariadb", recipe, [&](const std::string& room) {
        install.push_back("--datadir=" + room + "/made");
        call_or_throw(install);
    });
}

} // namespace

lack mariadb_server::missing() {
    return missing_programs({server_binary, "mariadb-install-db", "openssl", "setpriv"});
}

mariadb_server::mariadb_server(mariadb_options options)
    : database_server{options.clock}, options_{std::move(options)} {
    if (follows_ && options_.replica_of->options().changes == binary_log::none)
        throw std::logic_error{"nobody can follow a server that keeps no binary log"};
    call_or_throw({"cp", "-a", prototype(), data()});
    start_somewhere();
    if (follows_)
        follow_primary();
    else
        make_users();
}

void mariadb_server::make_users() const {
    sql("CREATE DATABASE holdfast;"
        "CREATE USER holdfast IDENTIFIED BY '" +
            options_.password + "' " +
            (options_.over == encryption::mutual_tls ? "REQUIRE X509;" : ";") +
            "GRANT ALL ON holdfast.* TO holdfast;"
            "CREATE USER replica; GRANT REPLICATION SLAVE ON *.* TO replica",
        "");
}

void mariadb_server::follow_primary() const {
    // It begins as empty as the primary did, and is told everything since.
    const auto& primary = *options_.replica_of;
    sql("CHANGE MASTER TO master_host = '127.0.0.1', master_port = " +
            std::to_string(primary.port()) +
            ", master_user = 'replica', master_use_gtid = slave_pos, master_connect_retry = 1" +
            (primary.options().over == encryption::none ? "" : ", master_ssl = 1") +
            "; START SLAVE",
        "");
    wait_for(primary.sql("SELECT @@gtid_binlog_pos", ""));
}

void mariadb_server::wait_for(const std::string& position) const {
    if (sql("SELECT master_gtid_wait('" + position + "', 20)", "") != "0")
        throw std::runtime_error{"the replica does not follow its primary: " + log()};
}

void mariadb_server::promote() {
    sql("STOP SLAVE IO_THREAD", "");
    wait_for(root("").ask_for("Gtid_IO_Pos", "SHOW SLAVE STATUS"));
    sql("STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only = 0", "");
    follows_ = false;
    write_configuration(); // for its next start
}

void mariadb_server::write_configuration() const {
    std::ofstream file{room() / "my.cnf"};
    file << "[mariadbd]\n"
         << "bind-address=127.0.0.1\n"
         << "port=" << port() << '\n'
         << "socket=" << unix_socket() << '\n'
         << "datadir=" << data() << '\n'
         << "tmpdir=" << room().path() << '\n'
         << "pid-file=" << room() / "pid" << '\n'
         << "max-connections=200\n"
         << "skip-name-resolve\n"
         << "server-id=" << port() << '\n'
         << (options_.changes == binary_log::kept ? "log-bin=changes\n" : "skip-log-bin\n")
         << "relay-log=relay\n"
         << "read-only=" << (follows_ ? "ON" : "OFF") << '\n'
         << "performance-schema=OFF\n"
         << "key-buffer-size=1M\n"
         << "aria-pagecache-buffer-size=8M\n";
    if (options_.over != encryption::none) {
        const auto& papers = our_certificates();
        file << "ssl-ca=" << papers.authority << '\n'
             << "ssl-cert=" << papers.server << '\n'
             << "ssl-key=" << papers.server_key << '\n'
             << "require-secure-transport=ON\n";
    }
    if (::geteuid() == 0)
        file << "user=root\n";
    for (const auto& line : small_files())
        file << line << '\n';
    for (const auto& line : options_.settings)
        file << line << '\n';
}

std::vector<std::string> mariadb_server::command() const {
    return {
        "setpriv", "--pdeathsig", "KILL", server_binary, "--defaults-file=" + room() / "my.cnf"};
}

bool mariadb_server::answers() const {
    try {
        return sql("SELECT 1", "") == "1";
    } catch (const std::runtime_error&) {
        return false; // it is still starting
    }
}

int mariadb_server::orderly_end() const { return SIGTERM; }

std::string mariadb_server::url() const { return url_of("mysql", options_.password); }

std::string mariadb_server::sql(const std::string& statements, const std::string& database) const {
    return root(database).ask(statements);
}

mariadb_link mariadb_server::root(const std::string& database) const {
    return mariadb_link{{.unix_socket = unix_socket(), .user = "root", .database = database}};
}

} // namespace holdfast::servers
