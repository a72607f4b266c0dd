#pragma once

#include <holdfast/backend.hpp>
#include <holdfast/clock.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::zookeeper {

struct address {
    std::string host = "127.0.0.1";
    int port = 2181;
};

/// Who may do what with the nodes that we make.
enum class access : std::uint8_t {
    open,            ///< anybody anything: Curator's default
    creator,         ///< only who gave the same user and password
    creator_or_read, ///< the same, and anybody may look
};

/// Which of Curator's mutexes ours is.
enum class mutexes : std::uint8_t {
    reentrant, ///< InterProcessMutex
    semaphore, ///< InterProcessSemaphoreMutex: another layout, which excludes only itself
};

struct options {
    std::vector<address> servers{{}};
    std::string root{}; ///< stands before every path: empty, or "/chroot"
    std::string user{}; ///< digest authentication
    std::string password{};
    zookeeper::access access = access::open;
    zookeeper::mutexes mutexes = mutexes::reentrant;
    duration session = std::chrono::seconds{30}; ///< how long the dead keep their locks
    duration connect_timeout = std::chrono::seconds{3};
    bool read_only = false; ///< stay connected to a server without a majority: to look, not to lock
};

/// Locks on ZooKeeper, in the nodes of Curator. Connecting happens by itself; what cannot be right
/// throws.
[[nodiscard]] std::unique_ptr<backend> make(options);

} // namespace holdfast::zookeeper
