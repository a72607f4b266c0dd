#pragma once

// The real Redisson and ourselves, each in a process of its own, on one server.

#include "interop/dump.hpp"
#include "interop/parties.hpp"

namespace holdfast::interop {

class with_both : public parties {
protected:
    void SetUp() override {
        HOLDFAST_NEEDS(servers::redis_server::missing());
        HOLDFAST_NEEDS(peer::redisson_missing(GetParam()));
        server.emplace();
        java.emplace(peer::redisson(GetParam()));
        ours.emplace(peer::ours());
        for (auto* one : {&*java, &*ours})
            for (const std::string client : {"c1", "c2"})
                one->ask("client", client, "single", "address=" + server->address());
    }

    /// A client whose leases are short and renewed.
    void open_short_lived(const std::string& called, std::chrono::milliseconds ttl) {
        for (auto* one : {&*java, &*ours})
            one->ask("client",
                     called,
                     "single",
                     "watchdog_ms=" + std::to_string(ttl.count()),
                     "address=" + server->address());
    }

    [[nodiscard]] std::int64_t number(const servers::words& command) const {
        return server->ask(command).number;
    }

    std::optional<servers::redis_server> server;
};

} // namespace holdfast::interop
