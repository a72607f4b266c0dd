#include "programs.hpp"

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

} // namespace

int listen_on_any(std::uint16_t& port) {
    const int s = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    auto at = loopback(0);
    socklen_t size = sizeof at;
    check(::bind(s, reinterpret_cast<const sockaddr*>(&at), size) == 0 &&
              ::getsockname(s, reinterpret_cast<sockaddr*>(&at), &size) == 0 &&
              ::listen(s, SOMAXCONN) == 0,
          "there is a free port");
    port = ntohs(at.sin_port);
    return s;
}

std::uint16_t free_port() {
    std::uint16_t port = 0;
    ::close(listen_on_any(port));
    return port;
}

int connect_to(std::uint16_t port) {
    const int s = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto at = loopback(port);
    if (::connect(s, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0)
        return s;
    ::close(s);
    return -1;
}

// -------------------------------------------------------------------------------------- program

program::program(std::vector<std::string> words, int in, int out) {
    std::vector<char*> arguments;
    for (auto& word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_ = ::fork();
    check(pid_ >= 0, "the kernel gives processes");
    if (pid_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        const int nowhere = ::open("/dev/null", O_RDWR);
        ::dup2(in < 0 ? nowhere : in, STDIN_FILENO);
        ::dup2(out < 0 ? nowhere : out, STDOUT_FILENO);
        ::execvp(arguments[0], arguments.data());
        std::_Exit(69);
    }
}

program::~program() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
}

void program::wait_until(const std::function<bool()>& ready, const char* sentence) const {
    for (int tries = 0; !ready(); ++tries) {
        check(tries < 3000 && ::waitpid(pid_, nullptr, WNOHANG) == 0, sentence);
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
}

// ----------------------------------------------------------------------------------------- peer

peer::pipes::pipes() {
    check(::pipe2(in, O_CLOEXEC) == 0 && ::pipe2(out, O_CLOEXEC) == 0, "the kernel gives pipes");
}

peer::peer(std::string name, const std::string& address, pipes between)
    : name_{std::move(name)}, program_{{HOLDFAST_BENCH_PEERS "/start", name_, address},
                                       between.in[0],
                                       between.out[1]},
      to_{between.in[1]}, from_{between.out[0]} {
    ::close(between.in[0]);
    ::close(between.out[1]);
}

std::unique_ptr<peer> peer::start(std::string name, const std::string& address) {
    std::unique_ptr<peer> made{new peer{std::move(name), address, pipes{}}};
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

} // namespace bench
