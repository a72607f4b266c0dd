#pragma once

// Two clients of the real Curator on one server.

#include "interop/peer.hpp"
#include "interop/zookeeper_dump.hpp"
#include "servers/zookeeper.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace holdfast::interop {

/// What a test must know to end a session of Curator's.
[[nodiscard]] inline servers::zookeeper_session session_of(peer& java, const std::string& client) {
    const auto told = java.ask("session", client); // id, password
    const auto space = told.find(' ');
    servers::zookeeper_session session{static_cast<std::int64_t>(std::stoull(told, nullptr, 16)),
                                       {}};
    for (std::size_t i = 0; i < 16; ++i)
        session.password +=
            static_cast<char>(std::stoi(told.substr(space + 1 + 2 * i, 2), nullptr, 16));
    return session;
}

class with_curator : public ::testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        HOLDFAST_NEEDS(servers::zookeeper_server::missing());
        HOLDFAST_NEEDS(peer::curator_missing(GetParam()));
        server.emplace(options());
        tree.emplace(server->address());
        java.emplace(peer::curator(GetParam()));
        for (const std::string client : {"c1", "c2"}) {
            java->ask(
                "client", client, "zookeeper", "session_ms=6000 address=" + server->address());
            call(client);
        }
        called.emplace_back(java->ask("address c1"), "ADDRESS");
    }

    [[nodiscard]] virtual servers::zookeeper_options options() const { return {}; }

    /// From now on its session has this name.
    void call(const std::string& client) {
        called.insert(called.begin(), {session_text(session_of(*java, client).id), client});
    }

    void expire(const std::string& client) {
        servers::expire(server->address(), session_of(*java, client));
    }

    /// Now, or once Curator has cleaned up behind its answer.
    void expect(const std::string& looks) { EXPECT_EQ(dump_when(looks, *tree, called), looks); }

    [[nodiscard]] bool is_newest() const { return GetParam() == newest_curator; }

    std::optional<servers::zookeeper_server> server;
    std::optional<servers::zookeeper_tree> tree;
    std::optional<peer> java;
    names called;
};

} // namespace holdfast::interop
