#include "relay.hpp"
#include "programs.hpp"

#include <algorithm>
#include <fcntl.h>
#include <memory>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace bench {
namespace {

struct line_through {
    int client, server;
    bool answered = true; ///< the server spoke last

    ~line_through() {
        ::close(client);
        ::close(server);
    }
};

/// What is sent in pieces is not held back.
[[nodiscard]] int at_once(int socket) {
    const int yes = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return socket;
}

/// False when it is over.
[[nodiscard]] bool pass_on(int from, int to) {
    char bytes[16 * 1024];
    const auto got = ::recv(from, bytes, sizeof bytes, 0);
    return got > 0 && ::send(to, bytes, static_cast<std::size_t>(got), MSG_NOSIGNAL) == got;
}

} // namespace

relay::relay(std::uint16_t to_port) : to_port_{to_port} {
    listener_ = listen_on_any(port_);
    check(::pipe2(stop_, O_CLOEXEC) == 0, "the kernel gives pipes");
    thread_ = std::thread{[this] { work(); }};
}

relay::~relay() {
    ::close(stop_[1]);
    thread_.join();
    ::close(stop_[0]);
    ::close(listener_);
}

void relay::work() {
    std::vector<std::unique_ptr<line_through>> all;
    for (;;) {
        std::vector<pollfd> ends = {{stop_[0], POLLIN, 0}, {listener_, POLLIN, 0}};
        for (const auto& one : all) {
            ends.push_back({one->server, POLLIN, 0}); // first: an answer ends the trip before
            ends.push_back({one->client, POLLIN, 0});
        }
        ::poll(ends.data(), ends.size(), -1);
        if (ends[0].revents != 0)
            return;
        for (std::size_t i = 0; i < all.size(); ++i) {
            auto& one = *all[i];
            bool open = true;
            if (ends[2 + 2 * i].revents != 0) {
                open = pass_on(one.server, one.client);
                one.answered = true;
            }
            if (open && ends[3 + 2 * i].revents != 0) {
                trips_ += one.answered ? 1 : 0;
                one.answered = false;
                open = pass_on(one.client, one.server);
            }
            if (!open)
                all[i].reset();
        }
        std::erase(all, nullptr);
        if (ends[1].revents != 0)
            all.emplace_back(
                new line_through{at_once(::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)),
                                 at_once(connect_to(to_port_))});
        most_lines_ = std::max(most_lines_.load(), all.size());
    }
}

} // namespace bench
