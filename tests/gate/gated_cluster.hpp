#pragma once

// A cluster whose clients come to each node through a gate, because that is the port it announces.
// The nodes talk to each other over a port of their own, past the gates.

#include "gate/gate.hpp"
#include "servers/redis_cluster.hpp"

#include <deque>
#include <stdexcept>

namespace holdfast::servers {

class gated_cluster {
public:
    gated_cluster() {
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            gates_.emplace_back(nodes.node(i).port());
            nodes.node(i).ask(
                {"CONFIG", "SET", "cluster-announce-port", std::to_string(gates_.back().port())});
        }
        if (!cli_tests::comes_true(std::chrono::seconds{15}, [this] { return all_is_announced(); }))
            throw std::runtime_error{"the nodes did not learn of the gates"};
    }

    [[nodiscard]] gate& gate_of(const redis_server& node) {
        for (std::size_t i = 0; i < nodes.size(); ++i)
            if (&nodes.node(i) == &node)
                return gates_[i];
        throw std::logic_error{"not a node of this cluster"};
    }

    [[nodiscard]] std::string addresses() const { ///< of the gates
        std::string all;
        for (const auto& one : gates_)
            all += (all.empty() ? "" : ",") + one.address();
        return all;
    }

    redis_cluster nodes;

private:
    [[nodiscard]] bool all_is_announced() {
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            const auto seen = to_string(nodes.node(i).ask({"CLUSTER", "SLOTS"}));
            for (const auto& one : gates_)
                if (seen.find(std::to_string(one.port())) == std::string::npos)
                    return false;
        }
        return true;
    }

    std::deque<gate> gates_;
};

} // namespace holdfast::servers
