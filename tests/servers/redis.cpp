#include "servers/redis.hpp"
#include "cli/process_tree.hpp"
#include "servers/ports.hpp"

#include <csignal>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace holdfast::servers {

using namespace std::chrono_literals;

lack redis_server::missing() { return missing_programs({"redis-server", "openssl", "setpriv"}); }

redis_server::redis_server(redis_options options) : options_{std::move(options)} {
    for (int tries = 0; tries < 10; ++tries) {
        port_ = free_port();
        write_configuration();
        if (start())
            return;
    }
    throw std::runtime_error{"redis-server found no free port in ten tries"};
}

void redis_server::write_configuration() const {
    const bool plain = options_.over == encryption::none;
    std::ofstream file{room_ / "redis.conf"};
    file << "bind 127.0.0.1\n"
         << "port " << (plain ? port_ : 0) << '\n'
         << "dir " << room_.path() << '\n'
         << "logfile " << room_ / "log" << '\n'
         << "unixsocket " << unix_socket() << '\n';
    if (!plain) {
        const auto& papers = our_certificates();
        file << "tls-port " << port_ << '\n'
             << "tls-cert-file " << papers.server << '\n'
             << "tls-key-file " << papers.server_key << '\n'
             << "tls-ca-cert-file " << papers.authority << '\n'
             << "tls-auth-clients " << (options_.over == encryption::mutual_tls ? "yes" : "no")
             << '\n';
    }
    if (!options_.sentinel.empty()) {
        for (const auto& line : options_.sentinel)
            file << line << '\n';
        return;
    }
    file << "save \"\"\n"
         << "enable-debug-command yes\n"
         << "repl-diskless-sync-delay 0\n" // a first replica need not wait for a second
         << "appendonly " << (options_.data == durability::append_only ? "yes" : "no") << '\n';
    if (!options_.user.empty())
        file << "user default off\nuser " << options_.user
             << " on allkeys allchannels allcommands >" << options_.password << '\n';
    else if (!options_.password.empty())
        file << "requirepass " << options_.password << '\n';
    if (options_.replica_of != 0)
        file << "replicaof 127.0.0.1 " << options_.replica_of << '\n';
    for (const auto& line : options_.settings)
        file << line << '\n';
}

bool redis_server::start() {
    words command{"setpriv", "--pdeathsig", "KILL", "redis-server", room_ / "redis.conf"};
    if (!options_.sentinel.empty())
        command.emplace_back("--sentinel");
    cli_tests::start_options how;
    how.input = "";
    how.environment = clocks_.environment();
    process_.emplace(command, how);
    const bool settled = cli_tests::comes_true(10s, [this] {
        if (!process_->runs_for(0ms))
            return true;
        try {
            return ask({"PING"}).text == "PONG";
        } catch (const std::runtime_error&) {
            return false; // its socket is not there yet
        }
    });
    if (settled && process_->runs_for(0ms))
        return true;
    std::string log{std::istreambuf_iterator<char>{std::ifstream{room_ / "log"}.rdbuf()}, {}};
    if (log.find("Address already in use") != std::string::npos)
        return false;
    throw std::runtime_error{"redis-server did not start: " + process_->err.all() + log};
}

std::string redis_server::address() const { return "127.0.0.1:" + std::to_string(port_); }

std::string redis_server::credentials() const {
    return options_.password.empty() ? "" : options_.user + ':' + options_.password + '@';
}

std::string redis_server::url() const {
    return (options_.over == encryption::none ? "redis://" : "rediss://") + credentials() +
           address();
}

redis_link redis_server::link() const {
    auto made = redis_link::over_unix(unix_socket());
    if (options_.password.empty() || !options_.sentinel.empty())
        return made;
    const auto user = options_.user.empty() ? "default" : options_.user;
    if (const auto let_in = made.ask({"AUTH", user, options_.password}); let_in.is_error())
        throw std::runtime_error{let_in.text};
    return made;
}

reply redis_server::ask(const words& command) const { return link().ask(command); }

void redis_server::pause() {
    process_->signal(SIGSTOP);
    if (!cli_tests::reaches_state(pid(), 'T'))
        throw std::runtime_error{"redis-server did not stop"};
}

bool redis_server::runs() const { return process_->runs_for(0ms) && !cli::is_stopped(pid()); }

void redis_server::resume() { process_->signal(SIGCONT); }

void redis_server::kill() {
    process_->signal(SIGKILL);
    static_cast<void>(process_->exit_code());
}

void redis_server::restart(contents data) {
    kill();
    // A socket file of the dead would look like a server that refuses.
    std::filesystem::remove(unix_socket());
    if (data == contents::lost)
        std::filesystem::remove_all(room_ / "appendonlydir");
    for (int tries = 0; tries < 10; ++tries)
        if (start())
            return;
    throw std::runtime_error{"somebody else has taken port " + std::to_string(port_)};
}

} // namespace holdfast::servers
