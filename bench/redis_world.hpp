#pragma once

// Who takes part when Redis is measured: a real server of our own, and the locks of others.

#include "world.hpp"

namespace bench {

/// A redis-server on a free port, without persistence; it ends with us.
class redis_process {
public:
    redis_process();

    [[nodiscard]] const program& running() const noexcept { return program_; }
    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
    [[nodiscard]] std::string url() const { return "redis://" + address(); }

private:
    std::uint16_t port_ = 0;
    program program_;
};

class redis_world : public world {
public:
    explicit redis_world(bool in_a_hurry);

    redis_process server;
    std::unique_ptr<peer> redisson, second_redisson, rueidislock, redsync, redis_py;

    [[nodiscard]] std::string versions() const;
};

void redis_alone(redis_world&, const effort&, findings&);
void redis_apart(redis_world&, const effort&, findings&);
void redis_one_name(redis_world&, const effort&, findings&);
void redis_queued(redis_world&, const effort&, findings&);

} // namespace bench
