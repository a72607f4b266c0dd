#pragma once

// Like Redis: one thread, keys with a time to live, a publication when one is freed.
//
//   attempt:  expired keys go; ours already ─▶ prolonged, "yours, same fence"; compatible ─▶ a key
//   with
//             ttl T + D; else contended, and whoever waits listens for the publication
//   release:  compare the nonce, delete, publish          renew:  compare the nonce, set the ttl
//   anew
//
// Worse than reality: a key may end up to `margin` early, a publication may get lost, requests and
// replies may come late, twice and in any order. Forgetting everything in a restart is beyond the
// guarantee: then only fences protect, because a new one is never lower than the server's clock.

#include "models/client_side.hpp"

#include <map>
#include <string>
#include <vector>

namespace holdfast::models {

class volatile_ttl_server final : public server {
public:
    explicit volatile_ttl_server(machine_room& room) : room_{room} {}

    void receive(const request&) override;
    void restart(memory) override;
    void take_away(const std::string& name) override;
    [[nodiscard]] bool backs(const claim&) override;
    [[nodiscard]] std::size_t remembers(std::optional<process_id>) override;

private:
    struct key {
        std::shared_ptr<const claim> by;
        process_id from;
        holdfast::fence fence;
        duration expires; // after which we may not be believed any more
        duration free_at; // after which somebody else may have it: the lock delay later
    };
    struct listener {
        nonce whose;
        process_id from;
    };
    struct lock {
        std::vector<key> keys;
        std::vector<listener> listeners;
        std::int64_t last_fence = 0;
        bool taken_over = false; // the last holder did not release
    };

    reply attempt(lock&, const request&);
    reply remove(lock&, const request&);
    reply raise(lock&, const request&);
    reply renew(const request&);
    bool renew_one(const claim&, process_id);
    void prolong(key&);
    void expire(lock&);
    fence next_fence(lock&, const claim&);
    void publish(lock&);

    machine_room& room_;
    std::map<std::string, lock> locks_;
};

class volatile_ttl_client final : public client_of_leases {
public:
    static constexpr duration margin = std::chrono::milliseconds{3};
    static constexpr models::transport transport = models::transport::datagrams;

    volatile_ttl_client(surroundings& around, process_id me)
        : client_of_leases{around, me, margin} {}
    [[nodiscard]] const capabilities& able() const noexcept override;
};

} // namespace holdfast::models
