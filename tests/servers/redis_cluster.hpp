#pragma once

// A Redis Cluster: three masters with a third of the slots each, and a replica for each of them.

#include "servers/redis.hpp"

#include <cstddef>
#include <deque>

namespace holdfast::servers {

class redis_cluster {
public:
    static constexpr std::size_t masters = 3;
    static constexpr int slots = 16'384;

    /// Returns when every node says that the cluster is whole and every replica is in step.
    explicit redis_cluster(const redis_options& each = {});

    /// Nodes 0 to 2 begin as masters; node i + 3 begins as the replica of node i.
    [[nodiscard]] redis_server& node(std::size_t i) { return nodes_.at(i); }
    [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }
    [[nodiscard]] std::string addresses() const; ///< host:port,…
    [[nodiscard]] std::string url() const;       ///< redis+cluster://…

    [[nodiscard]] static int slot_of(const redis_server& any_node, const std::string& key);

    /// The master of the key's slot, as the nodes that run agree by now.
    [[nodiscard]] redis_server& node_of(const std::string& key);
    [[nodiscard]] redis_server& master_of_slot(int slot);

    /// A replica of this master takes over without loss; returns when all nodes know.
    void fail_over(const redis_server& master);

    /// After a master was killed: returns when another one has the slot, and all that run know.
    void until_slot_leaves(int slot, const redis_server& master);

    /// In between, keys that are not there yet are answered by ASK.
    void begin_move(int slot, const redis_server& from, const redis_server& to);
    void finish_move(int slot, const redis_server& from, const redis_server& to);
    void move_slot(int slot, const redis_server& from, const redis_server& to);

private:
    [[nodiscard]] bool is_whole() const;
    [[nodiscard]] redis_server& node_with_id(const std::string&);

    std::deque<redis_server> nodes_;
    std::vector<std::string> ids_; // the cluster's own names of the nodes, which never change
};

} // namespace holdfast::servers
