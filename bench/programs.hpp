#pragma once

// Programs that are started for a run and end with us: servers, and the locks of others.

#include "pairs.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bench {

/// A socket on a free port of this machine.
[[nodiscard]] int listen_on_any(std::uint16_t& port);
[[nodiscard]] std::uint16_t free_port();
/// A socket, or -1 where nobody listens on this machine.
[[nodiscard]] int connect_to(std::uint16_t port);

class program {
public:
    /// What it prints is not wanted, unless `out` says where it goes.
    explicit program(std::vector<std::string> words, int in = -1, int out = -1);
    ~program(); ///< killed: nothing to save
    program(const program&) = delete;
    program& operator=(const program&) = delete;

    [[nodiscard]] int pid() const noexcept { return pid_; }
    /// Waits, but not for a program that has ended.
    void wait_until(const std::function<bool()>& ready, const char* sentence) const;

private:
    int pid_ = -1;
};

/// A program of bench/peers, which measures itself when told to.
class peer {
public:
    /// Null, and the reason is printed, where it cannot be had.
    [[nodiscard]] static std::unique_ptr<peer> start(std::string name, const std::string& address);
    ~peer();
    peer(const peer&) = delete;
    peer& operator=(const peer&) = delete;

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] int pid() const noexcept { return program_.pid(); }

    void tell(const std::string& command) const;
    [[nodiscard]] sample answer();
    [[nodiscard]] sample ask(const std::string& command) {
        tell(command);
        return answer();
    }

private:
    struct pipes {
        int in[2], out[2];
        pipes();
    };
    peer(std::string name, const std::string& address, pipes);
    [[nodiscard]] std::optional<std::string> line(int patience_seconds);

    std::string name_;
    program program_;
    int to_, from_;
    std::string heard_;
};

} // namespace bench
