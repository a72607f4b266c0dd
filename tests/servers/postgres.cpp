#include "servers/postgres.hpp"
#include "servers/postgres_link.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <pwd.h>
#include <stdexcept>
#include <sys/shm.h>
#include <unistd.h>

namespace holdfast::servers {
namespace {

using words = std::vector<std::string>;
namespace fs = std::filesystem;

/// Of the newest version here; empty if there is none.
std::string find_binaries() {
    std::error_code none;
    int newest = 0;
    for (const auto& one : fs::directory_iterator{"/usr/lib/postgresql", none}) {
        const auto version = one.path().filename().string();
        if (fs::exists(one.path() / "bin/initdb") &&
            version.find_first_not_of("0123456789") == std::string::npos)
            newest = std::max(newest, std::stoi(version));
    }
    return newest == 0 ? "" : "/usr/lib/postgresql/" + std::to_string(newest) + "/bin";
}

std::string binary(const std::string& name) {
    static const auto where = find_binaries();
    return where.empty() ? "" : where + '/' + name;
}

/// It refuses to run as root.
constexpr const char* user_instead_of_root = "postgres";
bool we_are_root() { return ::geteuid() == 0; }

words as_its_user(const words& command) {
    words all{"setpriv", "--pdeathsig", "KILL"};
    if (we_are_root())
        all.insert(
            all.end(),
            {"--reuid", user_instead_of_root, "--regid", user_instead_of_root, "--init-groups"});
    all.insert(all.end(), command.begin(), command.end());
    return all;
}

/// Which that user can enter, other than perhaps ours.
words in_folder(const std::string& path, const words& command) {
    auto all = as_its_user(command);
    all.insert(all.begin(), {"env", "--chdir=" + path});
    return all;
}

/// A folder and the files in it.
void give_to_its_user(const std::string& path) {
    if (!we_are_root())
        return;
    const auto* user = ::getpwnam(user_instead_of_root);
    const auto give = [&](const fs::path& one) {
        if (::chown(one.c_str(), user->pw_uid, user->pw_gid) != 0)
            throw std::runtime_error{"cannot be given away: " + one.string()};
    };
    give(path);
    for (const auto& one : fs::directory_iterator{path})
        give(one.path());
}

/// A data folder as each server's begins: as small as one can be.
std::string prototype() {
    const words initdb{binary("initdb"),
                       "--username=postgres",
                       "--auth=trust",
                       "--encoding=UTF8",
                       "--no-locale",
                       "--wal-segsize=1",
                       "--no-sync"};
    const std::string statements = "CREATE ROLE holdfast LOGIN\n"
                                   "ALTER DATABASE postgres RENAME TO holdfast\n"
                                   "ALTER DATABASE holdfast OWNER TO holdfast\n"
                                   "UPDATE pg_database SET datistemplate = false\n"
                                   "DROP DATABASE template0\n";
    static const auto version = call_or_throw({binary("postgres"), "--version"});
    auto recipe = version + statements;
    for (const auto& word : initdb)
        recipe += ' ' + word;
    return made_once("postgres", recipe, [&](const std::string& room) {
        give_to_its_user(room);
        auto first = initdb;
        first.push_back("--pgdata=made");
        call_or_throw(in_folder(room, first));
        const auto said = call_or_throw(
            in_folder(room, {binary("postgres"), "--single", "-D", "made", "template1"}),
            statements);
        if (said.find("ERROR") != std::string::npos) // which does not end it
            throw std::runtime_error{said};
    });
}

} // namespace

lack postgres_server::missing() {
    if (binary("initdb").empty())
        return "there is no PostgreSQL server here";
    if (we_are_root() && ::getpwnam(user_instead_of_root) == nullptr)
        return "PostgreSQL refuses to run as root, and there is no other user for it here";
    return missing_programs({"openssl", "setpriv"});
}

postgres_server::postgres_server(postgres_options options)
    : database_server{options.clock}, options_{std::move(options)} {
    if (options_.replica_of != nullptr)
        copy_primary();
    else
        call_or_throw({"cp", "-a", prototype(), data()});
    start_somewhere();
    if (options_.replica_of != nullptr)
        follow_primary();
    else if (!options_.password.empty())
        sql("ALTER ROLE holdfast PASSWORD '" + options_.password + '\'');
}

void postgres_server::copy_primary() const {
    give_to_its_user(room().path());
    const auto& primary = *options_.replica_of;
    call_or_throw(in_folder(room().path(),
                            {binary("pg_basebackup"),
                             "--host=" + primary.room().path(),
                             "--port=" + std::to_string(primary.port()),
                             "--username=postgres",
                             "--pgdata=data",
                             "--write-recovery-conf",
                             "--checkpoint=fast",
                             "--no-sync"}));
}

void postgres_server::follow_primary() const {
    const auto& primary = *options_.replica_of;
    const auto wait_for = [&](const std::string& state) {
        const auto question = "SELECT count(*) FROM pg_stat_replication WHERE " + state +
                              " AND replay_lsn >= '" + primary.sql("SELECT pg_current_wal_lsn()") +
                              "' AND application_name = '" + name() + '\'';
        if (!cli_tests::comes_true(cli_tests::patience,
                                   [&] { return primary.sql(question) == "1"; }))
            throw std::runtime_error{"the replica does not follow its primary: " + log()};
    };
    wait_for("state = 'streaming'");
    if (options_.commits == replication::asynchronous)
        return;
    primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'");
    primary.sql("SELECT pg_reload_conf()");
    wait_for("sync_state = 'sync'");
}

void postgres_server::promote() {
    if (sql("SELECT pg_promote(wait_seconds => 30)") != "t")
        throw std::runtime_error{"the replica was not promoted: " + log()};
}

void postgres_server::write_configuration() const {
    // What would only be there for power failures costs time.
    std::ofstream file{room() / "postgresql.conf"};
    file << "listen_addresses = '127.0.0.1'\n"
         << "port = " << port() << '\n'
         << "unix_socket_directories = '" << room().path() << "'\n"
         << "hba_file = '" << room() / "pg_hba.conf"
         << "'\n"
         << "max_connections = 200\n"
         << "shared_buffers = 8MB\n"
         << "min_wal_size = 2MB\n"
         << "max_wal_size = 32MB\n"
         << "dynamic_shared_memory_type = mmap\n" // files in its own folder
         << "fsync = off\n"
         << "full_page_writes = off\n"
         << "autovacuum = off\n"
         << "timezone = 'UTC'\n"
         << "log_timezone = 'UTC'\n"
         << "cluster_name = '" << name() << "'\n"
         << "wal_keep_size = 32MB\n"               // for a replica that is away for a while,
         << "wal_retrieve_retry_interval = 100\n"; // or whose primary is
    if (options_.over != encryption::none) {
        const auto& papers = our_certificates();
        const auto take = [&](const std::string& from, const std::string& name) {
            fs::copy_file(from, room() / name, fs::copy_options::overwrite_existing);
            return room() / name;
        };
        file << "ssl = on\n"
             << "ssl_ca_file = '" << take(papers.authority, "authority.crt") << "'\n"
             << "ssl_cert_file = '" << take(papers.server, "server.crt") << "'\n"
             << "ssl_key_file = '" << take(papers.server_key, "server.key") << "'\n";
    }
    for (const auto& line : options_.settings)
        file << line << '\n';
    std::ofstream{room() / "pg_hba.conf"}
        << "local all,replication all trust\n"
        << (options_.over == encryption::none ? "host" : "hostssl") << " all all 127.0.0.1/32 "
        << (options_.password.empty() ? "trust" : "scram-sha-256")
        << (options_.over == encryption::mutual_tls ? " clientcert=verify-ca" : "") << '\n';
    file.close();
    give_to_its_user(room().path());
}

std::vector<std::string> postgres_server::command() const {
    return as_its_user(
        {binary("postgres"), "-D", data(), "-c", "config_file=" + room() / "postgresql.conf"});
}

std::string postgres_server::name() const { return "server" + std::to_string(port()); }

bool postgres_server::answers() const {
    try {
        return sql("SELECT 1") == "1";
    } catch (const std::runtime_error&) {
        return false; // it is still starting
    }
}

int postgres_server::orderly_end() const { return SIGINT; }

void postgres_server::forget_the_dead() const {
    // Also of the system's memory it has a small piece, by which it knows whether somebody of it is
    // left. The seventh line says which.
    const auto file = data() + "/postmaster.pid";
    std::ifstream about{file};
    for (int line = 1; line < 7; ++line)
        about.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    unsigned long key = 0;
    int piece = 0;
    shmid_ds state{};
    if (about >> key >> piece && ::shmctl(piece, IPC_STAT, &state) == 0 && state.shm_nattch == 0)
        ::shmctl(piece, IPC_RMID, nullptr);
    std::error_code ignored; // an orderly end has removed them
    fs::remove(file, ignored);
    fs::remove(room() / (".s.PGSQL." + std::to_string(port()) + ".lock"), ignored);
}

std::string postgres_server::url() const { return url_of("postgres", options_.password); }

std::string postgres_server::sql(const std::string& statements,
                                 const std::string& database,
                                 const std::string& user) const {
    return postgres_link{"host='" + room().path() + "' port=" + std::to_string(port()) +
                         " dbname='" + database + "' user='" + user + '\''}
        .ask(statements);
}

} // namespace holdfast::servers
