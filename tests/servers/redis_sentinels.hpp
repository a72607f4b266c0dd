#pragma once

// A primary, its replicas, and three Sentinels that watch over them and agree by two.
//
// For about ten seconds after a fail-over that did not kill it, the old primary still takes writes:
// a real split brain, good for testing fences.

#include "servers/redis.hpp"

#include <cstddef>
#include <deque>

namespace holdfast::servers {

struct sentinel_options {
    std::size_t replicas = 1;
    redis_options each{}; ///< of the primary and the replicas
};

class redis_sentinels {
public:
    static constexpr const char* name = "holdfast"; ///< of the primary, as the Sentinels call it

    /// Returns when each Sentinel knows the others and all replicas, and these are in step.
    explicit redis_sentinels(const sentinel_options& = {});

    /// The one that the Sentinels name now.
    [[nodiscard]] redis_server& primary();

    [[nodiscard]] redis_server& server(std::size_t i) {
        return servers_.at(i);
    } ///< 0: the first primary
    [[nodiscard]] redis_server& sentinel(std::size_t i) { return sentinels_.at(i); }
    [[nodiscard]] std::size_t servers() const noexcept { return servers_.size(); }

    [[nodiscard]] std::string sentinel_addresses() const; ///< host:port,host:port,host:port
    [[nodiscard]] std::string url() const;                ///< redis+sentinel://…/name

    /// Asked for, or waited for after something was done to the primary. Return when all three
    /// Sentinels name another primary and it says so itself.
    void fail_over();
    void until_primary_is_not(std::uint16_t port);

private:
    void until_settled(std::size_t replicas);

    std::deque<redis_server> servers_;
    std::deque<redis_server> sentinels_;
};

} // namespace holdfast::servers
