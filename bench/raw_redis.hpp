#pragma once

// The least that a client of Redis would have to do for our locks: the same scripts, as bytes that
// were made beforehand, on a plain blocking socket, with hiredis to read the answers.
//
//   blocking    acquire ──▶ answer   release ──▶ answer          two round trips
//   together    release + acquire ──▶ two answers                one: unlock() does not wait
//   pipelined   many names on their way; who is answered goes on with its next step
//   threads     the same, but each step is a thread's of its own, which sleeps until its answer:
//   one
//               of them writes what all have asked for and reads what comes

#include "backends/redis/reply.hpp"
#include "pairs.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace bench {

/// A connection: bytes out, replies in, in order.
class redis_wire {
public:
    explicit redis_wire(std::uint16_t port);
    ~redis_wire();
    redis_wire(const redis_wire&) = delete;
    redis_wire& operator=(const redis_wire&) = delete;

    void send(std::string_view);
    /// Valid until the next call.
    [[nodiscard]] holdfast::redis::reply next();
    /// The next one if it is here already.
    [[nodiscard]] bool next_if_here(holdfast::redis::reply&);

    [[nodiscard]] std::string ask(std::initializer_list<std::string_view> words);

private:
    int socket_ = -1;
    holdfast::redis::reply_reader replies_;
};

class raw_redis {
public:
    raw_redis(std::uint16_t port, std::size_t names);

    [[nodiscard]] sample blocking(std::uint64_t cycles);
    [[nodiscard]] sample together(std::uint64_t cycles);
    [[nodiscard]] sample pipelined(std::uint64_t cycles);
    [[nodiscard]] sample threads(std::uint64_t cycles);

private:
    class shared_wire;
    struct lock {
        std::string acquire, release;
        std::int64_t last_fence = 0;
        std::int64_t began = 0;
        bool held = false;
    };
    void granted(lock&, const holdfast::redis::reply&) const;
    void gone(lock&, const holdfast::redis::reply&) const;

    redis_wire wire_;
    std::vector<lock> all_;
};

/// How often the server has done each command since its start; `INFO commandstats`.
[[nodiscard]] std::map<std::string, std::int64_t> commands_done(redis_wire&);

} // namespace bench
