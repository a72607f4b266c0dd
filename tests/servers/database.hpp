#pragma once

// What the real database servers of tests have in common: each is our own child, on a free loopback
// port, with a folder of its own in memory.
//
//   test ── sql() ── unix socket ──▶ server ◀── TCP or TLS, port() ── whoever is tested
//
// The test has a way in of its own, as the server's master, whatever happens on the port. The
// server is killed with its owner, or by the kernel if the test dies. Nothing is thread-safe but
// sql() of the derived classes.

#include "cli/program.hpp"
#include "servers/clocks.hpp"
#include "servers/folder.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace holdfast::servers {

class database_server {
public:
    database_server(const database_server&) = delete;
    database_server& operator=(const database_server&) = delete;

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    [[nodiscard]] std::string address() const; ///< 127.0.0.1:port
    [[nodiscard]] pid_t pid() const noexcept { return process_->pid(); }
    [[nodiscard]] bool runs() const;       ///< neither ended nor paused
    [[nodiscard]] std::string log() const; ///< since it was last started

    void pause();  ///< SIGSTOP, its children too; waits until all of them stand still
    void resume(); ///< SIGCONT
    void stop();   ///< orderly, but without waiting for clients to leave
    void kill();   ///< -9, its children too, and waits until nobody is left

    /// Killed, if it still runs, and started again on the same port, with what it had stored.
    void restart();

    /// How far its clock is ahead of the real one, from now on; needs server_clock::adjustable.
    void shift_wall_clock(std::chrono::milliseconds ahead) const { clocks_.shift_wall(ahead); }

protected:
    explicit database_server(server_clock kind) : clocks_{kind, room_} {}
    virtual ~database_server() = default; // a derived one has killed it before

    /// Tries ports until it has one of its own. Returns when it answers.
    void start_somewhere();

    /// Of the database `holdfast`, for the user of the same name.
    [[nodiscard]] std::string url_of(const std::string& scheme, const std::string& password) const;

    [[nodiscard]] const folder& room() const noexcept { return room_; }
    [[nodiscard]] std::string data() const { return room_ / "data"; }

    // What differs.
    virtual void write_configuration() const = 0;
    [[nodiscard]] virtual std::vector<std::string> command() const = 0;
    [[nodiscard]] virtual bool answers() const = 0;
    [[nodiscard]] virtual int orderly_end() const = 0; ///< a signal
    virtual void forget_the_dead() const {}            ///< removes what only an orderly end would

private:
    [[nodiscard]] bool start(); // false: its port was taken meanwhile
    void wait_for_the_end();

    folder room_; // outlives the process that writes into it
    clocks clocks_;
    std::uint16_t port_ = 0;
    std::optional<cli_tests::program> process_;
    std::optional<cli_tests::program> waker_; // of its children, while they are paused
};

/// Where there is a folder that `make` has filled, by the first who needed it since this machine
/// was started: never one that is half made. `recipe` is everything that its contents depend on.
[[nodiscard]] std::string made_once(const std::string& kind,
                                    const std::string& recipe,
                                    const std::function<void(const std::string& folder)>& make);

/// Waits for its end; throws with what it said, if it failed. Returns what it had to say.
std::string call_or_throw(const std::vector<std::string>& command, const std::string& input = "");

} // namespace holdfast::servers
