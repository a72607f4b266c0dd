#pragma once

// A real ZooKeeper server of one test: our own child, on a free loopback port, with a folder of its
// own in memory. Killed by its number with its owner, or by the kernel if the test dies.
//
// Nothing is thread-safe but tell() and mode().

#include "cli/program.hpp"
#include "servers/folder.hpp"
#include "servers/need.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace holdfast::servers {

struct zookeeper_options {
    std::chrono::milliseconds tick{200}; ///< sessions end at multiples of it, after their time-out
    std::chrono::milliseconds shortest_session{400}; ///< what a client asks for is moved into these
    std::chrono::milliseconds longest_session{60'000};
    std::vector<std::string> settings{};   ///< further lines of zoo.cfg
    std::vector<std::string> properties{}; ///< name=value, of the Java machine
    int member = 0;                        ///< its number in an ensemble; 0: it stands alone
};

class zookeeper_server {
public:
    [[nodiscard]] static lack missing();

    /// Returns when it serves; as a member of an ensemble, when it runs: it serves only together
    /// with others.
    explicit zookeeper_server(zookeeper_options = {});
    zookeeper_server(zookeeper_server&&) noexcept = default;
    zookeeper_server& operator=(zookeeper_server&&) = delete;

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    [[nodiscard]] std::string address() const; ///< 127.0.0.1:port
    [[nodiscard]] std::string url() const;     ///< zookeeper://127.0.0.1:port
    [[nodiscard]] const zookeeper_options& options() const noexcept { return options_; }
    [[nodiscard]] pid_t pid() const noexcept { return process_->pid(); }
    [[nodiscard]] bool runs() const; ///< neither killed nor paused
    [[nodiscard]] std::string log() const;

    /// Its answer to a four-letter word; empty if there is none within two seconds.
    [[nodiscard]] std::string tell(const std::string& four_letters) const;

    /// standalone, leader, follower; empty while it does not serve.
    [[nodiscard]] std::string mode() const;

    void pause();  ///< SIGSTOP: it neither answers nor closes anything; waits until it stands still
    void resume(); ///< SIGCONT
    void stop();   ///< SIGTERM, and waits for its orderly end
    void kill();   ///< -9, and waits until it is gone

    /// Killed, if it still runs, and started again on the same port, with what it had stored.
    /// Returns as the constructor does.
    void restart();
    void restart_empty(); ///< the same, without: no session of before is known

private:
    [[nodiscard]] bool start(); // false: its port was taken meanwhile
    void write_configuration() const;

    zookeeper_options options_;
    folder room_; // outlives the process that writes into it
    std::uint16_t port_ = 0;
    std::optional<cli_tests::program> process_;
};

} // namespace holdfast::servers
