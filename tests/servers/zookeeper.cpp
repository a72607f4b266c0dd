#include "servers/zookeeper.hpp"
#include "cli/process_tree.hpp"
#include "servers/ports.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <netinet/in.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace holdfast::servers {
namespace {

using namespace std::chrono_literals;

// Asked for before main. The server's own names all others that it needs.
constexpr const char* server_jar = "/usr/share/java/zookeeper.jar";
constexpr const char* log_jar = "/usr/share/java/slf4j-simple.jar";

/// What comes until the other side closes, within two seconds.
std::string read_all(int socket) {
    std::string text;
    const auto give_up_at = boot_clock::now() + 2s;
    for (;;) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(give_up_at - boot_clock::now());
        pollfd wait{socket, POLLIN, 0};
        if (left <= 0ms || ::poll(&wait, 1, static_cast<int>(left.count())) <= 0)
            return "";
        char piece[4096];
        const auto size = ::read(socket, piece, sizeof piece);
        if (size <= 0)
            return size == 0 ? text : "";
        text.append(piece, static_cast<std::size_t>(size));
    }
}

} // namespace

lack zookeeper_server::missing() {
    for (const std::string jar : {server_jar, log_jar})
        if (!std::filesystem::exists(jar))
            return "there is no " + jar + " here";
    return missing_programs({"java", "setpriv"});
}

zookeeper_server::zookeeper_server(zookeeper_options options) : options_{std::move(options)} {
    std::filesystem::create_directory(room_ / "data");
    if (options_.member != 0)
        std::ofstream{room_ / "data/myid"} << options_.member << '\n';
    for (int tries = 0; tries < 10; ++tries) {
        port_ = free_port();
        write_configuration();
        if (start())
            return;
    }
    throw std::runtime_error{"ZooKeeper found no free port in ten tries"};
}

void zookeeper_server::write_configuration() const {
    std::ofstream file{room_ / "zoo.cfg"};
    file << "tickTime=" << options_.tick.count() << '\n'
         << "minSessionTimeout=" << options_.shortest_session.count() << '\n'
         << "maxSessionTimeout=" << options_.longest_session.count() << '\n'
         << "dataDir=" << room_ / "data" << '\n'
         << "clientPort=" << port_ << '\n'
         << "clientPortAddress=127.0.0.1\n"
         << "maxClientCnxns=0\n" // of one address: all of ours come from the same
         << "admin.enableServer=false\n"
         << "4lw.commands.whitelist=*\n";
    for (const auto& line : options_.settings)
        file << line << '\n';
}

bool zookeeper_server::start() {
    // Small and quick to start: there may be several of them on a small machine. Memory is not
    // synced, and its files are sparse.
    std::vector<std::string> command{"setpriv",
                                     "--pdeathsig",
                                     "KILL",
                                     "java",
                                     "-Xmx128m",
                                     "-Xss512k",
                                     "-XX:+UseSerialGC",
                                     "-XX:TieredStopAtLevel=1",
                                     "-XX:-UsePerfData",
                                     "-Dzookeeper.forceSync=no",
                                     "-Dzookeeper.preAllocSize=1024",
                                     "-Dzookeeper.jmx.log4j.disable=true",
                                     "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                                     "-Dorg.slf4j.simpleLogger.logFile=" + room_ / "log"};
    for (const auto& one : options_.properties)
        command.push_back("-D" + one);
    command.insert(command.end(),
                   {"-cp",
                    std::string{server_jar} + ":" + log_jar,
                    "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                    room_ / "zoo.cfg"});
    cli_tests::start_options how;
    how.input = "";
    process_.emplace(command, how);
    if (options_.member != 0)
        return true;
    const bool settled = cli_tests::comes_true(
        60s, [this] { return !process_->runs_for(5ms) || mode() == "standalone"; });
    if (settled && process_->runs_for(0ms))
        return true;
    if (log().find("Address already in use") != std::string::npos)
        return false;
    kill();
    throw std::runtime_error{"ZooKeeper did not start: " + process_->err.all() + log()};
}

std::string zookeeper_server::log() const {
    return {std::istreambuf_iterator<char>{std::ifstream{room_ / "log"}.rdbuf()}, {}};
}

std::string zookeeper_server::address() const { return "127.0.0.1:" + std::to_string(port_); }

std::string zookeeper_server::url() const { return "zookeeper://" + address(); }

std::string zookeeper_server::tell(const std::string& four_letters) const {
    const cli_tests::descriptor line{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(port_);
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(line.number(), reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0 ||
        ::send(line.number(), four_letters.data(), four_letters.size(), MSG_NOSIGNAL) !=
            static_cast<ssize_t>(four_letters.size()))
        return "";
    return read_all(line.number());
}

std::string zookeeper_server::mode() const {
    const std::string title = "Mode: ";
    const auto about = tell("srvr"); // ruok is answered before it serves
    const auto at = about.find(title);
    if (at == std::string::npos)
        return "";
    const auto begin = at + title.size();
    return about.substr(begin, about.find('\n', begin) - begin);
}

bool zookeeper_server::runs() const { return process_->runs_for(0ms) && !cli::is_stopped(pid()); }

void zookeeper_server::pause() {
    process_->signal(SIGSTOP);
    if (!cli_tests::reaches_state(pid(), 'T'))
        throw std::runtime_error{"ZooKeeper did not stop"};
}

void zookeeper_server::resume() { process_->signal(SIGCONT); }

void zookeeper_server::stop() {
    process_->signal(SIGTERM);
    static_cast<void>(process_->exit_code());
}

void zookeeper_server::kill() {
    process_->signal(SIGKILL);
    static_cast<void>(process_->exit_code());
}

void zookeeper_server::restart_empty() {
    kill();
    std::filesystem::remove_all(room_ / "data/version-2");
    restart();
}

void zookeeper_server::restart() {
    kill();
    for (int tries = 0; tries < 10; ++tries)
        if (start())
            return;
    throw std::runtime_error{"somebody else has taken port " + std::to_string(port_)};
}

} // namespace holdfast::servers
