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
    call_or_throw({"cp", "-a", prototype(), data()});
    start_somewhere();
    sql("CREATE DATABASE holdfast; CREATE USER holdfast; GRANT ALL ON holdfast.* TO holdfast", "");
}

void mariadb_server::write_configuration() const {
    std::ofstream file{room() / "my.cnf"};
    file << "[mariadbd]\n"
         << "bind-address=127.0.0.1\n"
         << "port=" << port() << '\n'
         << "socket=" << room() / "socket" << '\n'
         << "datadir=" << data() << '\n'
         << "tmpdir=" << room().path() << '\n'
         << "pid-file=" << room() / "pid" << '\n'
         << "max-connections=200\n"
         << "skip-name-resolve\n"
         << "skip-log-bin\n"
         << "performance-schema=OFF\n"
         << "key-buffer-size=1M\n"
         << "aria-pagecache-buffer-size=8M\n";
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

std::string mariadb_server::url() const { return "mysql://holdfast@" + address() + "/holdfast"; }

std::string mariadb_server::sql(const std::string& statements, const std::string& database) const {
    return mariadb_link{{.unix_socket = room() / "socket", .user = "root", .database = database}}
        .ask(statements);
}

} // namespace holdfast::servers
