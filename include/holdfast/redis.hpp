#pragma once

#include <holdfast/backend.hpp>
#include <holdfast/clock.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::redis {

/// One server, as host and port; a Unix socket is its path and port 0.
struct address {
    std::string host = "127.0.0.1";
    int port = 6379;
};

struct tls_options {
    bool verify = true;             ///< false: anybody may answer. For trying things out only
    std::string ca_file{};          ///< whom to trust; empty: whom this machine trusts
    std::string certificate_file{}; ///< who we are, if the server asks
    std::string key_file{};
};

/// How servers belong together.
enum class topology : std::uint8_t {
    single,   ///< one server
    replicas, ///< the first is the primary, the others follow it
    sentinel, ///< sentinels know who is the primary
    cluster,  ///< each name lives on one of several primaries
};

/// What the keys look like.
enum class layout : std::uint8_t {
    redisson, ///< shared with Java
    plain, ///< one string, SET NX PX: shared with redsync, redis-py, redis-plus-plus, node-redlock
};

/// What releases are announced with. Java uses sharded ones in a cluster of Redis 7, else plain;
/// `both` is for a cluster in which old and new Java live together.
enum class announcing : std::uint8_t { by_topology, publish, spublish, both };

/// Which of Redisson's semaphores ours are.
enum class semaphores : std::uint8_t {
    expirable, ///< PermitExpirableSemaphore: a permit ends with its holder
    plain,     ///< Semaphore: a number of free permits. Those of dead Java holders are lost
};

struct options {
    redis::topology topology = topology::single;
    std::vector<address> servers{{}}; ///< of a cluster or the sentinels: those to ask first
    std::string primary_name{};       ///< what the sentinels call it
    std::string user{};
    std::string password{};
    std::string sentinel_password{};
    int db = 0;
    bool secure = false;
    tls_options tls{};
    redis::layout layout = layout::redisson;
    announcing announce = announcing::by_topology;
    redis::semaphores semaphores = semaphores::expirable;
    std::string prefix{}; ///< stands before every name
    duration connect_timeout = std::chrono::seconds{3};
    duration silence = std::chrono::seconds{3}; ///< a server that says nothing so long is gone
    std::uint32_t connections = 1;              ///< for requests, to each server
    std::uint32_t acknowledge = 0;              ///< how many replicas must have each grant
    duration acknowledge_within = std::chrono::seconds{1};
    duration quarantine = std::chrono::seconds{30}; ///< after a restart that may have forgotten
    bool allow_eviction = false;                    ///< a full server may drop locks
    duration fence_retention = std::chrono::hours{24 * 30};
};

/// Locks on Redis. Connecting happens by itself, when first needed; what cannot be right throws.
[[nodiscard]] std::unique_ptr<backend> make(options);

} // namespace holdfast::redis
