#pragma once

// Two clients of the real Redisson, each with two hands, on one server.

#include "interop/dump.hpp"
#include "interop/peer.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace holdfast::interop {

class with_redisson : public ::testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        HOLDFAST_NEEDS(servers::redis_server::missing());
        HOLDFAST_NEEDS(peer::redisson_missing(GetParam()));
        server.emplace();
        java.emplace(peer::redisson(GetParam()));
        for (const std::string client : {"c1", "c2"}) {
            java->ask("client", client, "single", "address=" + server->address());
            for (const std::string hand : {"h1", "h2"}) {
                auto who = java->ask("holder", client, hand);
                called.emplace_back(std::move(who), std::string{client}.append(":").append(hand));
            }
        }
        ears.emplace(*server);
    }

    /// Now, or once Redisson has cleaned up behind its answer.
    void expect(const std::string& looks) { EXPECT_EQ(dump_when(looks, *server, called), looks); }
    void expect_news(const std::string& message) {
        EXPECT_EQ(ears->next(called).value_or("(silence)"), message);
    }
    void expect_silence() { EXPECT_TRUE(ears->is_silent()); }

    [[nodiscard]] bool is_newest() const { return GetParam() == newest_redisson; }

    std::optional<servers::redis_server> server;
    std::optional<peer> java;
    std::optional<eavesdropper> ears;
    names called;
};

} // namespace holdfast::interop
