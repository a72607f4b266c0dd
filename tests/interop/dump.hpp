#pragma once

// What is in a Redis server, as text that a test can compare.
//
//   orders hash <=30s                      key, type, what is left of its ttl, rounded up to 5 s
//     c1:h1 = 1                           names given by the test stand for ids that change
//   redisson_lock_timeout:{orders} zset
//     c2:h1 @ <=330s                       a score that is a time is told from now on
//
// Bytes that are no text are told in hexadecimal.

#include "servers/redis.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::interop {

/// What a test calls things whose real names it cannot know: {real, called}.
using names = std::vector<std::pair<std::string, std::string>>;

[[nodiscard]] std::string renamed(std::string text, const names&);

[[nodiscard]] std::string dump(const servers::redis_server&, const names& = {});

/// Waits until it looks so, for peers that clean up behind their answers; then tells how it looks.
[[nodiscard]] std::string
dump_when(const std::string& expected, const servers::redis_server&, const names& = {});

/// A dump without the keys that begin with one of these, and whoever holds something in it is
/// SOMEBODY: runs of 32 or more hexadecimal digits and dashes, and the number behind them.
[[nodiscard]] std::string anonymous(const std::string& dump,
                                    const std::vector<std::string>& left_out);

/// Everything published on a server from now on.
class eavesdropper {
public:
    explicit eavesdropper(const servers::redis_server&);

    /// "channel payload"; nothing if nothing comes within this time.
    [[nodiscard]] std::optional<std::string>
    next(const names& = {}, std::chrono::milliseconds within = std::chrono::seconds{5});

    /// Nothing is under way any more: what was published before has been told by now.
    [[nodiscard]] bool is_silent();

private:
    const servers::redis_server& server_;
    servers::redis_link link_;
};

/// The commands that a server gets from now on, each as one line.
class monitor {
public:
    explicit monitor(const servers::redis_server&);
    [[nodiscard]] std::vector<std::string> so_far(); ///< and forgets them

private:
    const servers::redis_server& server_;
    servers::redis_link link_;
};

} // namespace holdfast::interop
