#pragma once

// Three ZooKeeper servers that stand for each other: one leads, and two are enough.
//
//   member i ── the port of j in i's own list ──▶ member j         for following; another for votes
//
// Each has a list of its own, so a test can put something between two of them.

#include "servers/zookeeper.hpp"

#include <cstddef>
#include <deque>
#include <functional>
#include <string>

namespace holdfast::servers {

class zookeeper_ensemble {
public:
    static constexpr std::size_t members = 3;

    /// The port at which `from` shall look for `to`, which follows or leads at `real`.
    using detour =
        std::function<std::uint16_t(std::size_t from, std::size_t to, std::uint16_t real)>;

    /// Returns when all three serve.
    explicit zookeeper_ensemble(
        const zookeeper_options& each = {},
        const detour& = [](std::size_t, std::size_t, std::uint16_t real) { return real; });

    [[nodiscard]] zookeeper_server& member(std::size_t i) { return members_.at(i); }
    [[nodiscard]] std::string addresses() const; ///< host:port,…
    [[nodiscard]] std::string url() const;       ///< zookeeper://…

    /// Who leads; waits until one does, and nobody else who runs believes to.
    [[nodiscard]] std::size_t leader();

    /// One who follows and is not this one.
    [[nodiscard]] std::size_t follower(std::size_t not_this = members);

    void until_all_serve();      ///< of those who run
    void restart(std::size_t i); ///< returns when it serves
    void restart_all();          ///< all are killed first; returns when all serve

private:
    [[nodiscard]] bool begin(const zookeeper_options& each, const detour&);

    std::deque<zookeeper_server> members_;
};

} // namespace holdfast::servers
