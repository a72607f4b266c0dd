#pragma once

// A ZooKeeper ensemble whose members follow each other through gates, so that one can be cut off
// from its leader while clients still reach it. Votes go past the gates.

#include "gate/gate.hpp"
#include "servers/zookeeper_ensemble.hpp"

#include <map>
#include <memory>
#include <utility>

namespace holdfast::servers {

class gated_ensemble {
    using between = std::map<std::pair<std::size_t, std::size_t>, std::unique_ptr<gate>>;
    between gates_; // before those that use them

public:
    explicit gated_ensemble(const zookeeper_options& each = {})
        : all{each, [this](std::size_t from, std::size_t to, std::uint16_t real) {
                  auto& one = gates_[{from, to}];
                  one = std::make_unique<gate>(real);
                  return one->port();
              }} {}

    zookeeper_ensemble all;

    /// Nothing that either of them says about following arrives, and nobody is told so. The one
    /// that is not the leader serves its clients until it has missed it for some ticks.
    void separate(std::size_t one, std::size_t other) {
        for_both(one, other, [](gate& on_the_way) {
            on_the_way.drop(direction::to_server);
            on_the_way.drop(direction::to_client);
        });
    }

    /// What was lost stays lost: they connect anew.
    void join(std::size_t one, std::size_t other) {
        for_both(one, other, [](gate& on_the_way) {
            on_the_way.cut();
            on_the_way.pass(direction::to_server);
            on_the_way.pass(direction::to_client);
        });
    }

private:
    template <class Act> void for_both(std::size_t one, std::size_t other, Act&& act) {
        act(*gates_.at({one, other}));
        act(*gates_.at({other, one}));
    }
};

} // namespace holdfast::servers
