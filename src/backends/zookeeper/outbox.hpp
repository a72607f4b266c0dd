#pragma once

// What waits to be said to the server.
//
// As long as little is on its way, everything goes out at once. But each change costs the server a
// transaction and the client two turns of its threads; so when a few changes are on their way,
// removals, and nodes whose number will tell where they stand, wait for the next answer, and then
// go out together, as one transaction. What comes after them waits behind them:
//
//   waiting      make A/…   remove B/7   list C   make D/…   remove C/2   list E
//   goes out     { make A/…   remove B/7   make D/… }   list C
//   then         { remove C/2 }   list E
//
// What concerns one folder stays in its order; what concerns different ones may change places.

#include "backends/zookeeper/operation.hpp"

#include <cstddef>
#include <deque>
#include <vector>

namespace holdfast::zookeeper {

class outbox {
public:
    /// Changes that are on their way when the next begin to wait. Two of them are one cycle of one
    /// thread that does not wait for its release.
    static constexpr std::size_t enough_on_their_way = 4;
    static constexpr std::size_t most_together = 64;

    [[nodiscard]] static bool changes_something(const operation&) noexcept;

    /// A beat never does: a lease may depend on it, and it concerns no folder.
    [[nodiscard]] bool must_wait(const operation&) const noexcept;
    void put(const operation&);

    /// The next that go out: first those `together`, as one, then the others, one by one.
    struct departure {
        std::vector<operation> together;
        std::vector<operation> then;
    };
    [[nodiscard]] bool may_go() const noexcept;
    [[nodiscard]] departure next();

    void left() noexcept { ++on_their_way_; }
    void answered() noexcept;

private:
    std::deque<operation> waiting_;
    std::size_t on_their_way_ = 0; // changes; those that go together are one
};

} // namespace holdfast::zookeeper
