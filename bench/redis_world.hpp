#pragma once

// Who takes part when Redis is measured: a real server of our own, and the locks of others.

#include "pairs.hpp"
#include "rows.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bench {

/// A redis-server on a free port, without persistence; it ends with us.
class redis_process {
public:
    redis_process();
    ~redis_process();
    redis_process(const redis_process&) = delete;
    redis_process& operator=(const redis_process&) = delete;

    [[nodiscard]] int pid() const noexcept { return pid_; }
    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
    [[nodiscard]] std::string url() const { return "redis://" + address(); }

private:
    int pid_ = -1;
    std::uint16_t port_ = 0;
};

/// A program of bench/peers, which measures itself when told to.
class peer {
public:
    /// Null, and the reason is printed, where it cannot be had.
    [[nodiscard]] static std::unique_ptr<peer> start(std::string name, const redis_process&);
    ~peer();
    peer(const peer&) = delete;
    peer& operator=(const peer&) = delete;

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] int pid() const noexcept { return pid_; }

    void tell(const std::string& command) const;
    [[nodiscard]] sample answer();
    [[nodiscard]] sample ask(const std::string& command) {
        tell(command);
        return answer();
    }

private:
    peer(std::string name, int pid, int to, int from)
        : name_{std::move(name)}, pid_{pid}, to_{to}, from_{from} {}
    [[nodiscard]] std::optional<std::string> line(int patience_seconds);

    std::string name_;
    int pid_, to_, from_;
    std::string heard_;
};

/// One more contender, and how many times as long as it we may take.
struct rival {
    contender who;
    std::optional<double> at_most;
};

class redis_world {
public:
    explicit redis_world(bool in_a_hurry);

    redis_process server;
    std::unique_ptr<peer> redisson, second_redisson, rueidislock, redsync, redis_py;

    /// All of them, and this thread; on two CPUs, the server sits on the other one.
    void place(placed) const;

    /// Adds one for each peer that is here.
    static void join(std::vector<rival>&,
                     peer*,
                     std::string command,
                     std::uint64_t cycles,
                     std::optional<double> at_most);

    /// The rounds; a line for each rival of the first. Returns how they stand.
    std::vector<standing> contest(
        const effort&, findings&, const std::string& work, placed, const std::vector<rival>&) const;

    [[nodiscard]] std::string versions() const;
};

void redis_alone(redis_world&, const effort&, findings&);
void redis_apart(redis_world&, const effort&, findings&);
void redis_one_name(redis_world&, const effort&, findings&);
void redis_queued(redis_world&, const effort&, findings&);

} // namespace bench
