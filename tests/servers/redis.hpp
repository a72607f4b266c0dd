#pragma once

// A real Redis server of one test: our own child, on a free loopback port, with a folder of its
// own.
//
//   test ── ask() ── unix socket ──▶ redis-server ◀── TCP or TLS, port() ── whoever is tested
//
// The test has a way in of its own, so it can look inside whatever happens on the port. The server
// is killed by its number with its owner, or by the kernel if the test dies. Nothing is thread-safe
// but ask().

#include "cli/program.hpp"
#include "servers/certificates.hpp"
#include "servers/clocks.hpp"
#include "servers/folder.hpp"
#include "servers/need.hpp"
#include "servers/redis_link.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace holdfast::servers {

enum class durability { none, append_only };
enum class contents { kept, lost };

struct redis_options {
    encryption over = encryption::none;
    durability data = durability::none;
    server_clock clock = server_clock::real;
    std::string password{};              ///< of the default user, or of `user`
    std::string user{};                  ///< the only one that may do anything, and all of it
    std::uint16_t replica_of = 0;        ///< port of its primary
    std::vector<std::string> settings{}; ///< further lines of redis.conf
    std::vector<std::string> sentinel{}; ///< lines that make it a Sentinel
};

class redis_server {
public:
    [[nodiscard]] static lack missing();

    explicit redis_server(redis_options = {});
    redis_server(redis_server&&) noexcept = default;
    redis_server& operator=(redis_server&&) = delete;

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    [[nodiscard]] std::string address() const;     ///< 127.0.0.1:port
    [[nodiscard]] std::string credentials() const; ///< user:password@ as in a URL, or nothing
    [[nodiscard]] std::string url() const; ///< redis:// or rediss://, user, password, address
    [[nodiscard]] std::string unix_socket() const { return room_ / "socket"; }
    [[nodiscard]] const redis_options& options() const noexcept { return options_; }
    [[nodiscard]] pid_t pid() const noexcept { return process_->pid(); }
    [[nodiscard]] bool runs() const; ///< neither killed nor paused

    /// Throws when there is no answer within five seconds.
    // NOLINTNEXTLINE(modernize-use-nodiscard): many commands are orders, not questions
    reply ask(const words& command) const;

    /// A connection of the test's own, already let in; for subscriptions and MONITOR.
    [[nodiscard]] redis_link link() const;

    void pause();  ///< SIGSTOP: it neither answers nor closes anything; waits until it stands still
    void resume(); ///< SIGCONT
    void kill();   ///< -9, and waits until it is gone

    /// Killed, if it still runs, and started again on the same port. Without durability there is
    /// nothing to keep.
    void restart(contents = contents::kept);

    /// How far its clocks are ahead of the real ones, from now on; needs server_clock::adjustable.
    void shift_wall_clock(std::chrono::milliseconds ahead) const { clocks_.shift_wall(ahead); }
    void shift_monotonic_clock(std::chrono::milliseconds ahead) const {
        clocks_.shift_monotonic(ahead);
    }

private:
    [[nodiscard]] bool start(); // false: its port was taken meanwhile
    void write_configuration() const;

    redis_options options_;
    folder room_; // outlives the process that writes into it
    clocks clocks_{options_.clock, room_};
    std::uint16_t port_ = 0;
    std::optional<cli_tests::program> process_;
};

} // namespace holdfast::servers
