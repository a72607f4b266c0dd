#include "sql_world.hpp"
#include "raw_mysql.hpp"
#include "raw_postgres.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bench {
namespace {

using words = std::vector<std::string>;
namespace fs = std::filesystem;

/// In that folder, where what it says is kept.
[[nodiscard]] words in_folder(const std::string& folder, const words& command) {
    words all{"sh", "-c", "cd \"$0\" && exec \"$@\" >log 2>&1", folder};
    all.insert(all.end(), command.begin(), command.end());
    return all;
}

void run(const words& command, const char* sentence) {
    const program once{command};
    siginfo_t how{};
    check(::waitid(P_PID, static_cast<id_t>(once.pid()), &how, WEXITED | WNOWAIT) == 0 &&
              how.si_code == CLD_EXITED && how.si_status == 0,
          sentence);
}

// ------------------------------------------------------------------------------------- PostgreSQL

constexpr const char* user_instead_of_root = "postgres"; // as root it refuses to run

/// Of the newest version here.
[[nodiscard]] std::string binary(const std::string& name) {
    int newest = 0;
    std::error_code none;
    for (const auto& one : fs::directory_iterator{"/usr/lib/postgresql", none})
        if (fs::exists(one.path() / "bin/initdb"))
            newest = std::max(newest, std::atoi(one.path().filename().c_str()));
    check(newest > 0, "there is a PostgreSQL server here");
    return "/usr/lib/postgresql/" + std::to_string(newest) + "/bin/" + name;
}

[[nodiscard]] words as_its_user(const words& command) {
    words all{"setpriv", "--pdeathsig", "KILL"};
    if (::geteuid() == 0)
        all.insert(
            all.end(),
            {"--reuid", user_instead_of_root, "--regid", user_instead_of_root, "--init-groups"});
    all.insert(all.end(), command.begin(), command.end());
    return all;
}

/// A folder that its user may enter and write.
[[nodiscard]] std::string its_folder(const scratch& files) {
    auto made = files.inside("postgres");
    if (::geteuid() == 0) {
        const auto* const user = ::getpwnam(user_instead_of_root);
        check(user != nullptr && ::chown(made.c_str(), user->pw_uid, user->pw_gid) == 0,
              "there is a user for PostgreSQL, which refuses to run as root");
        fs::permissions(fs::path{made}.parent_path(), fs::perms{0711});
    }
    return made;
}

class postgres_server final : public sql_server {
public:
    postgres_server() {
        folder_ = its_folder(files_);
        run(in_folder(folder_,
                      as_its_user({binary("initdb"),
                                   "--pgdata=data",
                                   "--username=postgres",
                                   "--auth=trust",
                                   "--encoding=UTF8",
                                   "--no-locale"})),
            "PostgreSQL makes its files: its user can enter this folder");
        program_.emplace(in_folder(folder_,
                                   as_its_user({binary("postgres"),
                                                "-D",
                                                "data",
                                                "-c",
                                                "listen_addresses=127.0.0.1",
                                                "-c",
                                                "port=" + std::to_string(port_),
                                                "-c",
                                                "unix_socket_directories="})));
        program_->wait_until(
            [this] {
                return (looks_ = try_raw_postgres(port_, "postgres", "postgres")) != nullptr;
            },
            "PostgreSQL starts");
        looks_->ask("CREATE ROLE holdfast LOGIN");
        looks_->ask("CREATE DATABASE holdfast OWNER holdfast");
        try_raw_postgres(port_, "holdfast", "holdfast")->ask(raw_postgres_tables());
    }
    // Killed, it would leave a piece of the system's memory behind.
    ~postgres_server() override {
        siginfo_t how{};
        ::kill(program_->pid(), SIGQUIT);
        ::waitid(P_PID, static_cast<id_t>(program_->pid()), &how, WEXITED | WNOWAIT);
    }

    const program& running() const noexcept override { return *program_; }
    std::string product() const override { return "PostgreSQL"; }
    std::string version() const override {
        const auto said = looks_->ask("SHOW server_version");
        return said.substr(0, said.find(' '));
    }
    std::string url(std::uint16_t port) const override {
        return "postgres://holdfast@127.0.0.1:" + std::to_string(port) + "/holdfast";
    }
    std::unique_ptr<raw_sql> connect(const std::string& holder) const override {
        return raw_postgres(port_, "holdfast", holder);
    }
    const char* in_python() const noexcept override { return "python-advisory-lock"; }
    std::optional<double> hand_off_trips() const override { return 3; }

protected:
    std::size_t for_itself() const noexcept override { return 1; }

private:
    scratch files_;
    std::string folder_;
    std::optional<program> program_;
    mutable std::unique_ptr<raw_sql> looks_;
};

// ---------------------------------------------------------------------------------------- MariaDB

class mariadb_server final : public sql_server {
public:
    mariadb_server() {
        const auto folder = files_.inside("mariadb"), data = "--datadir=" + folder + "/data",
                   socket = folder + "/socket";
        words install{"mariadb-install-db",
                      "--no-defaults",
                      "--auth-root-authentication-method=normal",
                      "--skip-test-db",
                      "--skip-name-resolve",
                      data};
        words serve{"setpriv",
                    "--pdeathsig",
                    "KILL",
                    "/usr/sbin/mariadbd", // not in everybody's PATH
                    "--no-defaults",
                    "--bind-address=127.0.0.1",
                    "--skip-name-resolve",
                    "--port=" + std::to_string(port_),
                    "--socket=" + socket,
                    "--pid-file=" + folder + "/pid",
                    data};
        if (::geteuid() == 0)
            for (auto* const command : {&install, &serve})
                command->emplace_back("--user=root");
        run(in_folder(folder, install), "MariaDB makes its files");
        program_.emplace(in_folder(folder, serve));
        program_->wait_until([&] { return (looks_ = try_raw_mysql(socket)) != nullptr; },
                             "MariaDB starts");
        looks_->ask("CREATE DATABASE holdfast; CREATE USER holdfast;"
                    "GRANT ALL ON holdfast.* TO holdfast; USE holdfast;" +
                    raw_mysql_tables());
    }

    const program& running() const noexcept override { return *program_; }
    std::string product() const override { return "MariaDB"; }
    std::string version() const override {
        const auto said = looks_->ask("SELECT VERSION()");
        return said.substr(0, said.find('-'));
    }
    std::string url(std::uint16_t port) const override {
        return "mysql://holdfast@127.0.0.1:" + std::to_string(port) + "/holdfast";
    }
    std::unique_ptr<raw_sql> connect(const std::string& holder) const override {
        return raw_mysql(port_, holder);
    }
    const char* in_python() const noexcept override { return "python-get-lock"; }
    double requests() const override {
        return std::stod(looks_->ask("SHOW GLOBAL STATUS LIKE 'Questions'")) - ++looked_;
    }

protected:
    std::size_t for_itself() const noexcept override { return 2; }

private:
    scratch files_;
    std::optional<program> program_;
    std::unique_ptr<raw_sql> looks_;
    mutable double looked_ = 0; // to ask it how often it was asked, is to ask it
};

} // namespace

std::unique_ptr<sql_server> start_postgres() { return std::make_unique<postgres_server>(); }
std::unique_ptr<sql_server> start_mariadb() { return std::make_unique<mariadb_server>(); }

sql_world::sql_world(std::unique_ptr<sql_server> s) : server{std::move(s)} {
    serves(server->running());
    if (server->requests() >= 0)
        counts_requests([this] { return server->requests(); });
    python = invite(server->in_python(), server->address());
    second_python = invite(server->in_python(), server->address(), 1);
}

std::vector<std::unique_ptr<raw_sql>> sql_world::connect(std::size_t how_many) const {
    std::vector<std::unique_ptr<raw_sql>> all;
    for (std::size_t i = 0; i < how_many; ++i)
        all.push_back(server->connect("raw"));
    return all;
}

} // namespace bench
