#include "backends/zookeeper/probe.hpp"
#include "runtime/quiet_thread.hpp"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace holdfast::zookeeper {
namespace {

constexpr std::size_t longest_answer = 64 * 1024;

class socket_ {
public:
    explicit socket_(int fd) : fd_{fd} {}
    socket_(const socket_&) = delete;
    socket_& operator=(const socket_&) = delete;
    ~socket_() {
        if (fd_ >= 0)
            ::close(fd_);
    }
    [[nodiscard]] int fd() const { return fd_; }

private:
    int fd_;
};

[[nodiscard]] bool wait_for(int fd, short what, instant by) {
    for (;;) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(by - boot_clock::now()).count();
        if (left <= 0)
            return false;
        pollfd one{fd, what, 0};
        const int count = ::poll(&one, 1, static_cast<int>(left));
        if (count > 0)
            return true;
        if (count < 0 && errno != EINTR)
            return false;
    }
}

using addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

[[nodiscard]] addresses look_up(const address& at) {
    addrinfo wish{};
    wish.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(at.host.c_str(), std::to_string(at.port).c_str(), &wish, &found) != 0)
        found = nullptr;
    return {found, &::freeaddrinfo};
}

[[nodiscard]] report::is connect(const socket_& to, const addrinfo& at, instant by) {
    if (::connect(to.fd(), at.ai_addr, at.ai_addrlen) == 0)
        return report::is::serving;
    if (errno != EINPROGRESS)
        return report::is::refusing;
    if (!wait_for(to.fd(), POLLOUT, by))
        return report::is::silent;
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(to.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
    return error == 0 ? report::is::serving : report::is::refusing;
}

[[nodiscard]] report::is meaning_of(std::string_view said) {
    if (said.find("not currently serving") != said.npos)
        return report::is::not_serving;
    if (said.find("not executed because it is not in the whitelist") != said.npos)
        return report::is::reserved;
    if (said.find("Mode:") != said.npos || said.find('=') != said.npos)
        return report::is::serving;
    return said.empty() ? report::is::reserved : report::is::foreign;
}

} // namespace

std::string text_of(const address& at) {
    const bool v6 = at.host.find(':') != std::string::npos;
    return (v6 ? "[" + at.host + "]" : at.host) + ":" + std::to_string(at.port);
}

std::string report::value(std::string_view key) const {
    std::size_t begin = 0;
    while (begin < said.size()) {
        const auto end = std::min(said.find('\n', begin), said.size());
        const std::string_view line{said.data() + begin, end - begin};
        if (line.starts_with(key)) {
            auto rest = line.substr(key.size());
            while (!rest.empty() &&
                   (rest.front() == ' ' || rest.front() == ':' || rest.front() == '='))
                rest.remove_prefix(1);
            return std::string{rest};
        }
        begin = end + 1;
    }
    return {};
}

report ask(const address& at, std::string_view word, duration at_most) {
    const auto by = boot_clock::now() + at_most;
    report r{.at = at, .how = report::is::unknown_name, .said = {}};
    const auto found = look_up(at);
    for (const auto* one = found.get(); one != nullptr; one = one->ai_next) {
        const socket_ to{
            ::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
        r.how = connect(to, *one, by);
        if (r.how != report::is::serving)
            continue;
        if (::send(to.fd(), word.data(), word.size(), MSG_NOSIGNAL) !=
            static_cast<ssize_t>(word.size())) {
            r.how = report::is::silent;
            return r;
        }
        char bytes[4096];
        while (r.said.size() < longest_answer) {
            if (!wait_for(to.fd(), POLLIN, by)) {
                r.how = report::is::silent;
                return r;
            }
            const auto got = ::read(to.fd(), bytes, sizeof bytes);
            if (got <= 0)
                break;
            r.said.append(bytes, static_cast<std::size_t>(got));
        }
        r.how = meaning_of(r.said);
        return r;
    }
    return r;
}

// All at once, and whoever takes longer is not waited for: looking up a name cannot be interrupted.
std::vector<report> ask_all(const std::vector<address>& servers, duration at_most) {
    struct answers {
        std::mutex guard;
        std::condition_variable changed;
        std::vector<report> all;
        std::size_t missing;
    };
    const auto shared = std::make_shared<answers>();
    for (const auto& one : servers)
        shared->all.push_back({.at = one, .how = report::is::silent, .said = {}});
    shared->missing = servers.size();
    for (std::size_t i = 0; i < servers.size(); ++i)
        detail::quiet_thread([shared, i, at = servers[i], at_most] {
            auto answer = ask(at, "srvr", at_most);
            const std::lock_guard lock{shared->guard};
            shared->all[i] = std::move(answer);
            if (--shared->missing == 0)
                shared->changed.notify_all();
        }).detach();
    std::unique_lock lock{shared->guard};
    shared->changed.wait_for(lock, at_most, [&] { return shared->missing == 0; });
    return shared->all;
}

std::string why_nobody_serves(const std::vector<report>& all) {
    std::string sentence;
    for (const auto& one : all) {
        const char* why = nullptr;
        switch (one.how) {
        case report::is::serving:
            if (one.value("Mode") == "read-only") {
                why = " has no majority behind it, and only lets people look";
                break;
            }
            return {};
        case report::is::reserved:
            return {};
        case report::is::unknown_name:
            why = " is a name that cannot be looked up";
            break;
        case report::is::refusing:
            why = " refuses connections";
            break;
        case report::is::silent:
            why = " does not answer";
            break;
        case report::is::not_serving:
            why = " is up but does not serve: it has no majority, or has just begun";
            break;
        case report::is::foreign:
            why = " is no ZooKeeper server";
            break;
        }
        sentence.append(sentence.empty() ? "" : ", ").append(text_of(one.at)).append(why);
    }
    return sentence;
}

} // namespace holdfast::zookeeper
