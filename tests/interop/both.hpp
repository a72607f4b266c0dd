#pragma once

// The real Redisson and ourselves, each in a process of its own, on one server. Both understand the
// same commands, so a test is written once and done with the parts exchanged.

#include "interop/dump.hpp"
#include "interop/peer.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

namespace holdfast::interop {

class with_both : public ::testing::TestWithParam<std::string> {
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

    /// First Java in the one part and us in the other, then the other way round.
    struct parts {
        peer& one;
        peer& other;
        std::string said; ///< for messages, and for names that are used once
    };
    [[nodiscard]] std::vector<parts> both_ways() {
        return {{*java, *ours, "java-first"}, {*ours, *java, "ours-first"}};
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
    std::optional<peer> java;
    std::optional<peer> ours;
};

} // namespace holdfast::interop
