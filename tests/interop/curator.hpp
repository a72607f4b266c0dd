#pragma once

// Two clients of the real Curator on one server.

#include "interop/peer.hpp"
#include "interop/zookeeper_dump.hpp"
#include "servers/zookeeper.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

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

/// Everything whose end or change somebody is told of, as "path by session". Of children nothing.
[[nodiscard]] inline std::vector<std::string> watches(const servers::zookeeper_server& server) {
    std::vector<std::string> all;
    std::string path;
    std::istringstream lines{server.tell("wchp")}; // a path, then its sessions, indented
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with('/'))
            path = line;
        else if (line.starts_with("\t0x") && !path.starts_with("/zookeeper"))
            all.push_back(path + " by " + line.substr(3));
    }
    return all;
}

/// It is in the queue, and is told when the one ahead goes. If its session ends before that,
/// Curator waits for that one all the same, and lines up again only then.
[[nodiscard]] inline bool
comes_to_wait(peer& java, const std::string& client, const servers::zookeeper_server& server) {
    const auto by = " by " + session_text(session_of(java, client).id);
    return cli_tests::comes_true(std::chrono::seconds{20}, [&] {
        const auto all = watches(server);
        return std::any_of(
            all.begin(), all.end(), [&](const std::string& one) { return one.ends_with(by); });
    });
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
