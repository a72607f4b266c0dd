#pragma once

// Putting together what an operator sees from what the keys say. Pure.

#include "backends/redis/notebook.hpp"
#include "backends/redis/protocol.hpp"
#include "backends/redis/server.hpp"

#include <holdfast/inspect.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::redis {

/// By the uuid of the client.
using notes_by_client = std::map<std::string, note, std::less<>>;

/// The answer of scripts.look for one name; nothing if there is no lock of that name.
[[nodiscard]] std::optional<lock_info>
lock_from(const std::string& name, const reply&, const notes_by_client&, layout);

/// Whether a field of a hash is how Redisson and we write a holder.
[[nodiscard]] bool looks_like_a_holder(std::string_view field) noexcept;

/// What a server's settings mean for locks, worst first.
struct server_state {
    server_facts facts;
    std::string append_fsync;
    std::int64_t min_replicas = -1; ///< -1: it would not say
    std::optional<duration> clock_difference;
};
[[nodiscard]] std::vector<finding>
findings_of(const std::string& where, const server_state&, const options&);

/// One that was named as a replica of that primary.
[[nodiscard]] finding
finding_of_replica(const std::string& where, const server_facts&, const server_facts& primary);

} // namespace holdfast::redis
