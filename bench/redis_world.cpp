#include "redis_world.hpp"
#include "raw_redis.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sstream>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace bench {
namespace {

constexpr int seconds_to_begin = 320; // it may have to be fetched and built
constexpr int seconds_to_answer = 120;

[[nodiscard]] sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return at;
}

[[nodiscard]] std::uint16_t free_port() {
    const int s = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    auto at = loopback(0);
    socklen_t size = sizeof at;
    check(::bind(s, reinterpret_cast<const sockaddr*>(&at), size) == 0 &&
              ::getsockname(s, reinterpret_cast<sockaddr*>(&at), &size) == 0,
          "there is a free port");
    ::close(s);
    return ntohs(at.sin_port);
}

[[nodiscard]] bool answers(std::uint16_t port) {
    const int s = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto at = loopback(port);
    const bool yes = ::connect(s, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
    ::close(s);
    return yes;
}

/// Ends with us; its own output is not wanted unless `out` says where it goes.
[[nodiscard]] int spawn(std::vector<std::string> words, int in = -1, int out = -1) {
    std::vector<char*> arguments;
    for (auto& word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const int pid = ::fork();
    check(pid >= 0, "the kernel gives processes");
    if (pid == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        const int nowhere = ::open("/dev/null", O_RDWR);
        ::dup2(in < 0 ? nowhere : in, STDIN_FILENO);
        ::dup2(out < 0 ? nowhere : out, STDOUT_FILENO);
        ::execvp(arguments[0], arguments.data());
        std::_Exit(69);
    }
    return pid;
}

} // namespace

// --------------------------------------------------------------------------------------- server

redis_process::redis_process() : port_{free_port()} {
    pid_ = spawn({"redis-server",
                  "--bind",
                  "127.0.0.1",
                  "--port",
                  std::to_string(port_),
                  "--save",
                  "",
                  "--appendonly",
                  "no"});
    for (int tries = 0; !answers(port_); ++tries) {
        check(tries < 500 && ::waitpid(pid_, nullptr, WNOHANG) == 0, "redis-server starts");
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
}

redis_process::~redis_process() {
    ::kill(pid_, SIGKILL); // nothing to save
    ::waitpid(pid_, nullptr, 0);
}

// ---------------------------------------------------------------------------------------- peers

std::unique_ptr<peer> peer::start(std::string name, const redis_process& server) {
    int to[2], from[2];
    check(::pipe2(to, O_CLOEXEC) == 0 && ::pipe2(from, O_CLOEXEC) == 0, "the kernel gives pipes");
    const int pid = spawn({HOLDFAST_BENCH_PEERS "/start", name, server.address()}, to[0], from[1]);
    ::close(to[0]);
    ::close(from[1]);
    std::unique_ptr<peer> made{new peer{std::move(name), pid, to[1], from[0]}};
    const auto first = made->line(seconds_to_begin);
    if (first && first->starts_with("ready"))
        return made;
    std::fprintf(stderr,
                 "bench: without %s: %s\n",
                 made->name_.c_str(),
                 first ? first->c_str() : "it did not start");
    return nullptr;
}

peer::~peer() {
    ::close(to_);
    ::close(from_);
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
}

std::optional<std::string> peer::line(int patience) {
    for (;;) {
        if (const auto end = heard_.find('\n'); end != heard_.npos) {
            auto found = heard_.substr(0, end);
            heard_.erase(0, end + 1);
            return found;
        }
        pollfd readable{from_, POLLIN, 0};
        char bytes[512];
        if (::poll(&readable, 1, patience * 1000) != 1)
            return std::nullopt;
        const auto got = ::read(from_, bytes, sizeof bytes);
        if (got <= 0)
            return std::nullopt;
        heard_.append(bytes, static_cast<std::size_t>(got));
    }
}

void peer::tell(const std::string& command) const {
    const auto bytes = command + "\n";
    check(::write(to_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
          "a peer listens");
}

sample peer::answer() {
    const auto said = line(seconds_to_answer).value_or("nothing");
    std::istringstream words{said};
    std::string verdict;
    sample found;
    if (!(words >> verdict >> found.mean_ns >> found.p50_ns >> found.p99_ns) || verdict != "ok")
        check(false, (name_ + " says: " + said).c_str());
    return found;
}

// ---------------------------------------------------------------------------------------- world

redis_world::redis_world(bool in_a_hurry) {
    for (auto* who : {&redisson, &second_redisson})
        *who = peer::start("redisson", server);
    rueidislock = peer::start("rueidislock", server);
    redsync = peer::start("redsync", server);
    redis_py = peer::start("redis-py", server);
    if (in_a_hurry)
        std::fprintf(stderr, "bench: a quick run warms Java up for ten seconds only\n");
    for (auto* who : {redisson.get(), second_redisson.get()})
        if (who != nullptr) { // ten seconds at the least: before that Java is interpreted
            const auto until = now_ns() + (in_a_hurry ? 10 : 20) * std::int64_t{1'000'000'000};
            while (now_ns() < until)
                for (const char* const work :
                     {"alone 2000", "apart 64 4000", "flying 100 4000", "one 16 1000"})
                    static_cast<void>(who->ask(work));
        }
}

void redis_world::place(placed where) const {
    bench::place(where);
    place_process(server.pid(), where, 1);
    for (const auto* who : {&redisson, &rueidislock, &redsync, &redis_py})
        if (*who)
            place_process((*who)->pid(), where);
    if (second_redisson)
        place_process(second_redisson->pid(), where, 1);
}

void redis_world::join(std::vector<rival>& all,
                       peer* who,
                       std::string command,
                       std::uint64_t cycles,
                       std::optional<double> at_most) {
    if (who == nullptr)
        return;
    auto run = [who, command = std::move(command)](std::uint64_t n) {
        return who->ask(command + " " + std::to_string(n));
    };
    all.push_back({{who->name(), cycles, std::move(run)}, at_most});
}

std::vector<standing> redis_world::contest(const effort& how,
                                           findings& out,
                                           const std::string& work,
                                           placed where,
                                           const std::vector<rival>& rivals) const {
    std::vector<contender> all;
    for (const auto& one : rivals)
        all.push_back(one.who);
    const int servers[] = {server.pid()};
    auto found = compete(all, how.rounds, servers);
    for (std::size_t i = 1; i < found.size(); ++i)
        out.lines.push_back({work,
                             where,
                             found,
                             compare(found[0], found[i]),
                             rivals[i].at_most,
                             "mean",
                             {},
                             false,
                             i});
    return found;
}

std::string redis_world::versions() const {
    redis_wire wire{server.port()};
    std::istringstream lines{wire.ask({"INFO", "server"})};
    constexpr std::string_view key = "redis_version:";
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with(key))
            return "Redis " + line.substr(key.size(), line.size() - key.size() - 1) +
                   " without persistence, over loopback";
    return "Redis";
}

} // namespace bench
