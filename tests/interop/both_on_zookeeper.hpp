#pragma once

// The real Curator and ourselves, each in a process of its own, on one server.

#include "interop/parties.hpp"
#include "interop/zookeeper_dump.hpp"
#include "servers/folder.hpp"
#include "servers/zookeeper.hpp"

#include <cstdio>
#include <fstream>
#include <initializer_list>

namespace holdfast::interop {

class with_both_on_zookeeper : public parties {
protected:
    void SetUp() override {
        HOLDFAST_NEEDS(servers::zookeeper_server::missing());
        HOLDFAST_NEEDS(peer::curator_missing(GetParam()));
        server.emplace(options());
        tree.emplace(server->address());
        java.emplace(peer::curator(GetParam()));
        ours.emplace(peer::ours());
        for (auto* one : {&*java, &*ours})
            open_all(*one);
    }

    [[nodiscard]] virtual servers::zookeeper_options options() const { return {}; }

    void open_all(peer& one) {
        for (const std::string client : {"c1", "c2", "s1", "s2"})
            open(one, client, std::chrono::seconds{20});
    }

    /// Those that begin with s have Curator's semaphores for mutexes.
    void open(peer& one, const std::string& client, std::chrono::milliseconds session) {
        one.ask("client",
                client,
                "zookeeper",
                "session_ms=" + std::to_string(session.count()),
                (client.starts_with('s') ? "mutexes=semaphore " : "") +
                    ("address=" + server->address()));
    }

    /// A client for locks of this kind.
    [[nodiscard]] static std::string client_of(const std::string& kind, int number) {
        return (kind == "semaphore_mutex" ? "s" : "c") + std::to_string(number);
    }

    [[nodiscard]] static std::string path_of(const std::string& begin, const std::string& kind) {
        const auto path = "/" + begin + "-" + kind;
        return kind == "multi" ? path + "-a," + path + "-b," + path + "-c" : path;
    }

    [[nodiscard]] bool has_children(const std::string& path, std::size_t many) {
        return cli_tests::comes_true(std::chrono::seconds{20},
                                     [&] { return tree->children(path).size() == many; });
    }

    /// After its session was ended. Curator gives up when its tries are over before it has another:
    /// then it is asked again.
    [[nodiscard]] bool java_lines_up_again(peer::ticket& waits,
                                           const std::string& asking,
                                           const std::string& path,
                                           std::size_t many) {
        for (int tries = 0; tries < 3; ++tries) {
            const bool settled = cli_tests::comes_true(std::chrono::seconds{20}, [&] {
                return java->has_answered(waits) || tree->children(path).size() == many;
            });
            if (!settled || !java->has_answered(waits))
                return settled;
            try {
                static_cast<void>(java->end(waits));
                return false; // it was granted
            } catch (const std::runtime_error& gave_up) {
                std::printf("Curator gave up: %s\n", gave_up.what());
            }
            waits = java->begin(asking);
        }
        return false;
    }

    void revive(std::optional<peer>& who) {
        who.reset();
        who.emplace(&who == &java ? peer::curator(GetParam()) : peer::ours());
        open_all(*who);
    }

    // Counters are files.
    [[nodiscard]] std::string counter(const std::string& of) const { return room / of; }
    [[nodiscard]] std::int64_t counted(const std::string& of) const {
        std::int64_t number = 0;
        std::ifstream{counter(of)} >> number;
        return number;
    }

    const servers::folder room;
    std::optional<servers::zookeeper_server> server;
    std::optional<servers::zookeeper_tree> tree;
};

} // namespace holdfast::interop
