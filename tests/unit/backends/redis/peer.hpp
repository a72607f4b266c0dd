#pragma once

// The other end of a line, played by the test: it accepts, hears commands, and says any bytes at
// all. Every wait has a bound.

#include "backends/redis/line.hpp"
#include "backends/redis/reply.hpp"
#include "runtime/quiet_thread.hpp"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <netinet/in.h>
#include <optional>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace holdfast::redis::test {

inline constexpr auto patience = std::chrono::seconds{20};

/// One accepted connection.
class visitor {
public:
    explicit visitor(int fd) : fd_{fd} {}
    visitor(visitor&& other) noexcept
        : fd_{std::exchange(other.fd_, -1)}, heard_{std::move(other.heard_)} {}
    visitor& operator=(visitor&&) = delete;
    ~visitor() { hang_up(); }

    void hang_up() {
        if (fd_ >= 0)
            ::close(std::exchange(fd_, -1));
    }
    void say(std::string_view bytes) const {
        while (!bytes.empty()) {
            const auto n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (n <= 0)
                return; // it hung up, which is its right
            bytes.remove_prefix(static_cast<std::size_t>(n));
        }
    }

    using words = std::vector<std::string>;
    /// The next command; nothing when the other end hung up.
    [[nodiscard]] std::optional<words> hear() {
        for (;;) {
            reply r;
            if (heard_->next(r) == reply_reader::found::reply) {
                words all;
                for (std::size_t i = 0; i < r.size(); ++i)
                    all.emplace_back(r[i].text());
                return all;
            }
            if (!readable_within(patience))
                throw std::runtime_error{"the peer heard nothing"};
            char bytes[4096];
            const auto n = ::recv(fd_, bytes, sizeof bytes, 0);
            if (n <= 0)
                return std::nullopt;
            if (!heard_->feed({bytes, static_cast<std::size_t>(n)}))
                throw std::runtime_error{"the peer heard nonsense"};
        }
    }
    /// How many commands come until there is silence for a while.
    [[nodiscard]] std::size_t hear_until_silence(std::chrono::milliseconds silence) {
        std::size_t count = 0;
        while (readable_within(silence)) {
            char bytes[4096];
            const auto n = ::recv(fd_, bytes, sizeof bytes, 0);
            if (n <= 0 || !heard_->feed({bytes, static_cast<std::size_t>(n)}))
                break;
            for (reply r; heard_->next(r) == reply_reader::found::reply;)
                ++count;
        }
        return count;
    }
    [[nodiscard]] bool readable_within(std::chrono::milliseconds at_most) const {
        pollfd one{fd_, POLLIN, 0};
        return ::poll(&one, 1, static_cast<int>(at_most.count())) == 1;
    }

private:
    int fd_;
    std::unique_ptr<reply_reader> heard_ = std::make_unique<reply_reader>();
};

/// A listening loopback port.
class peer {
public:
    peer() : fd_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
        sockaddr_in here{};
        here.sin_family = AF_INET;
        here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof here;
        if (::bind(fd_, reinterpret_cast<sockaddr*>(&here), size) != 0 || ::listen(fd_, 64) != 0 ||
            ::getsockname(fd_, reinterpret_cast<sockaddr*>(&here), &size) != 0)
            throw std::runtime_error{"there is no port for the peer"};
        port_ = ntohs(here.sin_port);
    }
    ~peer() { ::close(fd_); }
    peer(const peer&) = delete;
    peer& operator=(const peer&) = delete;

    [[nodiscard]] int port() const noexcept { return port_; }
    [[nodiscard]] bool called_within(std::chrono::milliseconds at_most) const {
        pollfd one{fd_, POLLIN, 0};
        return ::poll(&one, 1, static_cast<int>(at_most.count())) == 1;
    }
    [[nodiscard]] visitor accept() const {
        if (!called_within(patience))
            throw std::runtime_error{"nobody called the peer"};
        return visitor{::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC)};
    }

private:
    int fd_;
    int port_ = 0;
};

/// A port on which nobody listens.
[[nodiscard]] inline int deaf_port() { return peer{}.port(); }

/// A thread that does what the client's loop does: watches a reactor and lets it work.
class driver {
public:
    explicit driver(std::shared_ptr<reactor> r)
        : reactor_{std::move(r)}, thread_{detail::quiet_thread([this] {
              while (!done_) {
                  pollfd one{reactor_->descriptor(), POLLIN, 0};
                  if (::poll(&one, 1, 20) == 1)
                      reactor_->dispatch();
              }
          })} {}
    ~driver() {
        done_ = true;
        thread_.join();
    }
    driver(const driver&) = delete;
    driver& operator=(const driver&) = delete;

private:
    const std::shared_ptr<reactor> reactor_;
    std::atomic<bool> done_{false};
    std::thread thread_;
};

} // namespace holdfast::redis::test
