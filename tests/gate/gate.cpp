#include "gate/gate.hpp"
#include "cli/program.hpp"
#include "servers/ports.hpp"

#include <holdfast/clock.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <optional>
#include <poll.h>
#include <stdexcept>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace holdfast::servers {
namespace {

using cli_tests::descriptor;

constexpr std::size_t most_kept = std::size_t{64} << 20; // then the sender has to wait

sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(port);
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return where;
}

descriptor tcp_socket() { return descriptor{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)}; }

bool listen_on(const descriptor& one, std::uint16_t port) {
    const int yes = 1;
    ::setsockopt(one.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    const auto where = loopback(port);
    return ::bind(one.number(), reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0 &&
           ::listen(one.number(), 128) == 0;
}

bool connect_to(const descriptor& one, std::uint16_t port) {
    const auto where = loopback(port);
    return ::connect(one.number(), reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0;
}

void send_at_once(const descriptor& one) {
    const int yes = 1;
    ::setsockopt(one.number(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

void end(descriptor& one, ending how) {
    if (how == ending::reset) {
        const linger abort{.l_onoff = 1, .l_linger = 0};
        ::setsockopt(one.number(), SOL_SOCKET, SO_LINGER, &abort, sizeof abort);
    }
    one.close();
}

// ------------------------------------------------------------------------------------------ rules

enum class treatment { pass, hold, drop };

struct rules {
    treatment what = treatment::pass;
    duration delay{};
    std::optional<std::uint64_t> cut_after{};
    std::string cut_at{};
    last_bytes delivered = last_bytes::lost;
    ending how = ending::reset;
};

/// Bytes on their way, or the end of them.
struct parcel {
    instant due;
    std::string bytes;
};

/// One direction of one connection: rules, and what is on its way.
struct lane {
    rules now;
    std::deque<parcel> under_way{};
    std::size_t kept = 0;
    bool source_ended = false;
    std::string tail{}; // the last bytes seen, in case the text sought comes in two pieces
    std::uint64_t seen = 0;
    std::uint64_t passed = 0;

    [[nodiscard]] bool has_due(instant time) const {
        return now.what == treatment::pass && !under_way.empty() && under_way.front().due <= time;
    }
    void forget() { // but not that the sender has gone: TCP would say so again and again
        std::erase_if(under_way, [](const parcel& one) { return !one.bytes.empty(); });
        kept = 0;
    }
};

/// Whether the text has come by now.
bool finds_text(lane& one, std::string_view piece) {
    if (one.now.cut_at.empty())
        return false;
    one.tail += piece;
    const bool found = one.tail.find(one.now.cut_at) != std::string::npos;
    one.tail.erase(0, one.tail.size() - std::min(one.tail.size(), one.now.cut_at.size() - 1));
    return found;
}

struct connection {
    connection_number number;
    std::array<descriptor, 2> ends;   // by the direction that leads to it
    std::array<lane, 2> lanes;        // by direction
    std::optional<direction> dying{}; // cut, but what goes this way is still being delivered

    descriptor& target(direction way) { return ends.at(static_cast<std::size_t>(way)); }
    descriptor& source(direction way) { return ends.at(1 - static_cast<std::size_t>(way)); }
    lane& in(direction way) { return lanes.at(static_cast<std::size_t>(way)); }
    [[nodiscard]] const lane& in(direction way) const {
        return lanes.at(static_cast<std::size_t>(way));
    }
    [[nodiscard]] bool is_over() const { return ends[0].number() < 0 && ends[1].number() < 0; }
    void finish(ending how) {
        for (auto& one : ends)
            end(one, how);
    }
};

constexpr std::array both{direction::to_server, direction::to_client};

} // namespace

// ----------------------------------------------------------------------------------------- keeper

class gate::keeper {
public:
    keeper(descriptor listener, std::uint16_t port, std::uint16_t server)
        : listener_{std::move(listener)}, port_{port}, server_{server},
          bell_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {}

    void run() {
        while (!stopped_) {
            wait();
            obey();
            admit_newcomers();
            for (auto& one : connections_)
                serve(one);
            remember_the_ended();
        }
    }

    // From other threads: done by run(), between two rounds.
    void tell(std::function<void()> order) {
        std::packaged_task<void()> task{std::move(order)};
        auto done = task.get_future();
        {
            const std::lock_guard guard{orders_mutex_};
            orders_.push_back(std::move(task));
        }
        ring();
        done.get();
    }

    void stop() noexcept {
        stopped_ = true;
        ring();
    }

    /// The rules of a lane, and those of lanes to come.
    void change(direction way, connection_number which, const std::function<void(lane&)>& how) {
        for (auto& one : connections_)
            if (which == all_connections || which == one.number)
                how(one.in(way));
        lane example{.now = rules_for(which, way)};
        how(example);
        to_come_[{which, way}] = example.now;
        if (which == all_connections)
            std::erase_if(to_come_, [&](const auto& entry) {
                return entry.first.second == way && entry.first.first != all_connections;
            });
    }

    void cut(ending how, connection_number which) {
        for (auto& one : connections_)
            if (which == all_connections || which == one.number)
                one.finish(how);
        remember_the_ended();
    }

    void refuse() { listener_.close(); }
    void admit() {
        if (listener_.number() >= 0)
            return;
        listener_ = tcp_socket();
        if (!listen_on(listener_, port_))
            throw std::runtime_error{"somebody else has taken the gate's port"};
    }
    void lead_to(std::uint16_t server) { server_ = server; }

    [[nodiscard]] std::size_t ever() const { return arrived_; }
    [[nodiscard]] std::size_t open() const { return connections_.size(); }
    [[nodiscard]] std::size_t cuts() const { return cuts_; }
    [[nodiscard]] std::uint64_t
    count(direction way, connection_number which, std::uint64_t lane::*what) const {
        std::uint64_t sum = 0;
        const auto add = [&](connection_number number, const lane& one) {
            sum += which == all_connections || which == number ? one.*what : 0;
        };
        for (const auto& one : connections_)
            add(one.number, one.in(way));
        for (const auto& [number, one] : ended_)
            add(number, one.at(static_cast<std::size_t>(way)));
        return sum;
    }

private:
    void ring() const noexcept {
        ::eventfd_write(bell_.number(), 1);
    } // fails only after 2^64 of them

    void wait() {
        std::vector<pollfd> events{{bell_.number(), POLLIN, 0}, {listener_.number(), POLLIN, 0}};
        auto wake_at = boot_clock::now() + std::chrono::seconds{60};
        for (auto& one : connections_)
            for (const auto way : both) {
                auto& path = one.in(way);
                if (!path.source_ended && path.kept < most_kept)
                    events.push_back({one.source(way).number(), POLLIN, 0});
                if (path.has_due(boot_clock::now()))
                    events.push_back({one.target(way).number(), POLLOUT, 0});
                else if (path.now.what == treatment::pass && !path.under_way.empty())
                    wake_at = std::min(wake_at, path.under_way.front().due);
            }
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(wake_at - boot_clock::now());
        ::poll(events.data(),
               events.size(),
               static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    }

    void obey() {
        eventfd_t rings = 0;
        if (::eventfd_read(bell_.number(), &rings) != 0)
            return;
        std::vector<std::packaged_task<void()>> orders;
        {
            const std::lock_guard guard{orders_mutex_};
            orders.swap(orders_);
        }
        for (auto& order : orders)
            order();
    }

    void admit_newcomers() {
        pollfd knock{listener_.number(), POLLIN, 0};
        while (listener_.number() >= 0 && ::poll(&knock, 1, 0) == 1) {
            descriptor client{::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC)};
            if (client.number() < 0)
                return;
            const auto number = arrived_++;
            auto server = tcp_socket();
            if (!connect_to(server, server_)) {
                end(client, ending::reset);
                continue;
            }
            for (const auto* one : {&client, &server})
                send_at_once(*one);
            connections_.push_back(
                {.number = number,
                 .ends = {std::move(server), std::move(client)},
                 .lanes = {lane{.now = rules_for(number, direction::to_server)},
                           lane{.now = rules_for(number, direction::to_client)}}});
        }
    }

    [[nodiscard]] rules rules_for(connection_number number, direction way) const {
        for (const auto which : {number, all_connections})
            if (const auto found = to_come_.find({which, way}); found != to_come_.end())
                return found->second;
        return {};
    }

    void serve(connection& one) {
        for (const auto way : both) {
            take_in(one, way);
            give_out(one, way);
        }
    }

    void take_in(connection& one, direction way) {
        auto& path = one.in(way);
        if (one.is_over() || path.source_ended || path.kept >= most_kept)
            return;
        std::array<char, 16384> bytes; // NOLINT(cppcoreguidelines-pro-type-member-init)
        const auto size =
            ::recv(one.source(way).number(), bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (size < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (size <= 0) {
            path.source_ended = true;
            if (one.dying && *one.dying != way)
                one.finish(ending::closed); // all that was to be delivered has been read
            else
                path.under_way.push_back({boot_clock::now() + path.now.delay, {}});
            return;
        }
        if (one.dying) // nobody is there to hear it
            return;
        sort_out(one, way, {bytes.data(), static_cast<std::size_t>(size)});
    }

    void sort_out(connection& one, direction way, std::string piece) {
        auto& path = one.in(way);
        path.seen += piece.size();
        if (finds_text(path, piece)) {
            ++cuts_;
            forget_text(way, std::string{path.now.cut_at});
            if (path.now.delivered == last_bytes::lost)
                one.finish(path.now.how);
            else
                deliver_and_die(one, way, std::move(piece));
            return;
        }
        if (path.now.cut_after) {
            if (piece.size() >= *path.now.cut_after) {
                ++cuts_;
                piece.resize(*path.now.cut_after);
                deliver_and_die(one, way, std::move(piece));
                return;
            }
            *path.now.cut_after -= piece.size();
        }
        if (path.now.what == treatment::drop)
            return;
        path.kept += piece.size();
        path.under_way.push_back({boot_clock::now() + path.now.delay, std::move(piece)});
    }

    void forget_text(direction way, const std::string& text) {
        const auto forget = [&](rules& one) {
            if (one.cut_at == text)
                one.cut_at.clear();
        };
        for (auto& one : connections_)
            forget(one.in(way).now);
        for (auto& [which, one] : to_come_)
            if (which.second == way)
                forget(one);
    }

    /// The sender's side ends now. The receiver gets what is under way, then an end that it can
    /// read up to: after a reset its kernel would throw away what it has not read.
    static void deliver_and_die(connection& one, direction way, std::string piece) {
        auto& path = one.in(way);
        const auto how = path.now.how;
        path.kept += piece.size();
        path.under_way.push_back({boot_clock::now() + path.now.delay, std::move(piece)});
        path.under_way.push_back({boot_clock::now() + path.now.delay, {}});
        path.now = {};
        path.source_ended = true;
        one.dying = way;
        one.in(way == direction::to_server ? direction::to_client : direction::to_server).forget();
        end(one.source(way), how);
    }

    static void give_out(connection& one, direction way) {
        auto& path = one.in(way);
        while (!one.is_over() && path.has_due(boot_clock::now())) {
            auto& first = path.under_way.front();
            if (first.bytes.empty() && one.dying) {
                ::shutdown(one.target(way).number(), SHUT_WR);
                path.under_way.pop_front();
                return;
            }
            if (first.bytes.empty())
                return one.finish(ending::closed);
            const auto size = ::send(one.target(way).number(),
                                     first.bytes.data(),
                                     first.bytes.size(),
                                     MSG_DONTWAIT | MSG_NOSIGNAL);
            if (size < 0 && (errno == EAGAIN || errno == EINTR))
                return;
            if (size < 0)
                return one.finish(ending::reset);
            path.passed += static_cast<std::uint64_t>(size);
            path.kept -= static_cast<std::size_t>(size);
            first.bytes.erase(0, static_cast<std::size_t>(size));
            if (first.bytes.empty())
                path.under_way.pop_front();
        }
    }

    void remember_the_ended() {
        for (auto& one : connections_)
            if (one.is_over())
                ended_.emplace_back(one.number, std::move(one.lanes));
        std::erase_if(connections_, [](const connection& one) { return one.is_over(); });
    }

    descriptor listener_;
    std::uint16_t port_;
    std::uint16_t server_;
    descriptor bell_;
    std::mutex orders_mutex_;
    std::vector<std::packaged_task<void()>> orders_;
    std::map<std::pair<connection_number, direction>, rules> to_come_;
    std::deque<connection> connections_;
    std::vector<std::pair<connection_number, std::array<lane, 2>>> ended_; // for their counts
    std::size_t arrived_ = 0;
    std::size_t cuts_ = 0;
    std::atomic<bool> stopped_ = false;
};

// ------------------------------------------------------------------------------------------- gate

gate::gate(std::uint16_t server_port) {
    auto listener = tcp_socket();
    port_ = free_port();
    for (int tries = 0; !listen_on(listener, port_); ++tries) {
        if (tries == 10)
            throw std::runtime_error{"the gate found no free port"};
        listener = tcp_socket();
        port_ = free_port();
    }
    keeper_ = std::make_unique<keeper>(std::move(listener), port_, server_port);
    thread_ = std::thread{[this] { keeper_->run(); }};
}

gate::~gate() {
    keeper_->stop();
    thread_.join();
}

void gate::tell(const std::function<void(keeper&)>& order) const {
    keeper_->tell([&] { order(*keeper_); });
}

void gate::pass(direction way, connection_number which) {
    tell([=](keeper& inside) {
        inside.change(way, which, [](lane& one) { one.now.what = treatment::pass; });
    });
}

void gate::hold(direction way, connection_number which) {
    tell([=](keeper& inside) {
        inside.change(way, which, [](lane& one) { one.now.what = treatment::hold; });
    });
}

void gate::drop(direction way, connection_number which) {
    tell([=](keeper& inside) {
        inside.change(way, which, [](lane& one) {
            one.now.what = treatment::drop;
            one.forget();
        });
    });
}

void gate::delay(direction way, std::chrono::milliseconds time, connection_number which) {
    tell([=](keeper& inside) {
        inside.change(way, which, [&](lane& one) { one.now.delay = time; });
    });
}

void gate::cut(ending how, connection_number which) {
    tell([=](keeper& inside) { inside.cut(how, which); });
}

void gate::cut_after(direction way, std::uint64_t more_bytes, ending how, connection_number which) {
    tell([=](keeper& inside) {
        inside.change(way, which, [&](lane& one) {
            one.now.cut_after = more_bytes;
            one.now.how = how;
        });
    });
}

void gate::cut_at(
    direction way, const std::string& text, last_bytes fate, ending how, connection_number which) {
    tell([&](keeper& inside) {
        inside.change(way, which, [&](lane& one) {
            one.tail.clear();
            one.now.cut_at = text;
            one.now.delivered = fate;
            one.now.how = how;
        });
    });
}

void gate::refuse() {
    tell([](keeper& inside) { inside.refuse(); });
}

void gate::admit() {
    tell([](keeper& inside) { inside.admit(); });
}

void gate::lead_to(std::uint16_t server_port) {
    tell([=](keeper& inside) { inside.lead_to(server_port); });
}

std::size_t gate::connections() const {
    std::size_t count = 0;
    tell([&](const keeper& inside) { count = inside.ever(); });
    return count;
}

std::size_t gate::open_connections() const {
    std::size_t count = 0;
    tell([&](const keeper& inside) { count = inside.open(); });
    return count;
}

std::size_t gate::cuts() const {
    std::size_t count = 0;
    tell([&](const keeper& inside) { count = inside.cuts(); });
    return count;
}

std::uint64_t gate::bytes_seen(direction way, connection_number which) const {
    std::uint64_t count = 0;
    tell([&](const keeper& inside) { count = inside.count(way, which, &lane::seen); });
    return count;
}

std::uint64_t gate::bytes_passed(direction way, connection_number which) const {
    std::uint64_t count = 0;
    tell([&](const keeper& inside) { count = inside.count(way, which, &lane::passed); });
    return count;
}

} // namespace holdfast::servers
