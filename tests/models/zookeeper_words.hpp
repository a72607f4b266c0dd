#pragma once

// What travels between a ZooKeeper client and its server, in the model.

#include "backends/zookeeper/operation.hpp"

#include <holdfast/clock.hpp>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace holdfast::models {

struct hello {                ///< the first word on a connection
    std::int64_t session = 0; ///< 0: a new one
    std::int64_t seen = 0;    ///< a server that knows less must not be talked to
    std::vector<std::string> data_watches{};
    std::vector<std::string> child_watches{};
};
struct ping {};
struct farewell {}; ///< ends the session

using words = std::variant<hello, zookeeper::operation, ping, farewell>;

struct welcome {
    std::int64_t session = 0;
    duration granted{};
};
struct session_over {};
struct hung_up {}; ///< the connection is closed
struct pong {};
struct answer {
    zookeeper::op_id to{};
    zookeeper::reply what{};
    std::int64_t seen = 0;
};
struct watch_event {
    std::string path{};
    zookeeper::seen what{};
    std::int64_t seen = 0;
};

using saying = std::variant<welcome, session_over, hung_up, pong, answer, watch_event>;

/// For the story.
[[nodiscard]] std::string told(const words&);
[[nodiscard]] std::string told(const saying&);

} // namespace holdfast::models
