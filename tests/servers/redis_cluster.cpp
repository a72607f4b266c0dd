#include "servers/redis_cluster.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

namespace holdfast::servers {
namespace {

using namespace std::chrono_literals;

void must(bool came_true, const char* what) {
    if (!came_true)
        throw std::runtime_error{what};
}

void obey(const redis_server& node, const words& command) {
    if (const auto answer = node.ask(command); answer.is_error())
        throw std::runtime_error{command[0] + ' ' + command[1] + ": " + answer.text};
}

std::string id_of(const redis_server& node) { return node.ask({"CLUSTER", "MYID"}).text; }

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

bool runs(const redis_server& node) { return node.runs(); }

// Who has a range of slots, as CLUSTER SLOTS tells it: [from, to, master, replica …], each of these
// [host, port, id]. The port is not always told, the id is.
const std::string& id_in(const reply& range, std::size_t place) {
    return range.items.at(place).items.at(2).text;
}
constexpr std::size_t master_place = 2;
constexpr std::size_t replica_place = 3;

std::string master_as_seen_by(const redis_server& node, int slot) {
    for (const auto& range : node.ask({"CLUSTER", "SLOTS"}).items)
        if (range.items.at(0).number <= slot && slot <= range.items.at(1).number)
            return id_in(range, master_place);
    return "";
}

} // namespace

redis_cluster::redis_cluster(const redis_options& each) {
    auto options = each;
    // A replica is listed only after its master has sent it something, be it a ping.
    for (const auto* line :
         {"cluster-enabled yes", "cluster-node-timeout 1000", "repl-ping-replica-period 1"})
        options.settings.emplace_back(line);
    if (!each.password.empty())
        options.settings.push_back("masterauth " + each.password);
    if (!each.user.empty())
        options.settings.push_back("masteruser " + each.user);
    if (each.over != encryption::none)
        for (const auto* line : {"tls-cluster yes", "tls-replication yes"})
            options.settings.emplace_back(line);
    for (std::size_t i = 0; i < 2 * masters; ++i) {
        nodes_.emplace_back(options);
        ids_.push_back(id_of(nodes_[i]));
        // Given in advance, the epochs need not be fought out later.
        obey(nodes_[i], {"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
        // Each is introduced to each: faster than gossip alone.
        for (std::size_t other = 0; other < i; ++other)
            obey(nodes_[other], {"CLUSTER", "MEET", "127.0.0.1", std::to_string(nodes_[i].port())});
    }
    constexpr auto share = static_cast<std::size_t>(slots) / masters + 1;
    for (std::size_t i = 0; i < masters; ++i)
        obey(nodes_[i],
             {"CLUSTER",
              "ADDSLOTSRANGE",
              std::to_string(i * share),
              std::to_string(std::min((i + 1) * share, std::size_t{slots}) - 1)});
    for (std::size_t i = 0; i < masters; ++i) {
        const words become{"CLUSTER", "REPLICATE", ids_[i]};
        must(cli_tests::comes_true(15s,
                                   [&] { return nodes_[masters + i].ask(become).text == "OK"; }),
             "a node did not learn of its master");
    }
    must(cli_tests::comes_true(30s, [&] { return is_whole(); }), "the cluster did not come up");
}

bool redis_cluster::is_whole() const {
    std::size_t in_step = 0;
    for (const auto& node : nodes_) {
        const auto about = node.ask({"CLUSTER", "INFO"}).text;
        if (!has(about, "cluster_state:ok") || !has(about, "cluster_known_nodes:6"))
            return false;
        const auto slots_seen = node.ask({"CLUSTER", "SLOTS"}).items;
        if (slots_seen.size() != masters ||
            !std::all_of(slots_seen.begin(), slots_seen.end(), [](const reply& range) {
                return range.items.size() == replica_place + 1;
            }))
            return false;
        in_step += has(node.ask({"INFO", "replication"}).text, "master_link_status:up") ? 1U : 0U;
    }
    return in_step == masters;
}

std::string redis_cluster::addresses() const {
    std::string all;
    for (const auto& node : nodes_)
        all += (all.empty() ? "" : ",") + node.address();
    return all;
}

std::string redis_cluster::url() const {
    return "redis+cluster://" + nodes_.front().credentials() + addresses();
}

int redis_cluster::slot_of(const redis_server& any_node, const std::string& key) {
    return static_cast<int>(any_node.ask({"CLUSTER", "KEYSLOT", key}).number);
}

redis_server& redis_cluster::node_of(const std::string& key) {
    const auto one = std::find_if(nodes_.begin(), nodes_.end(), runs);
    must(one != nodes_.end(), "no node runs");
    return master_of_slot(slot_of(*one, key));
}

redis_server& redis_cluster::node_with_id(const std::string& id) {
    const auto found = std::find(ids_.begin(), ids_.end(), id);
    must(found != ids_.end(), "a node of somebody else's cluster");
    return nodes_[static_cast<std::size_t>(found - ids_.begin())];
}

redis_server& redis_cluster::master_of_slot(int slot) {
    std::set<std::string> opinions;
    const bool agreed = cli_tests::comes_true(15s, [&] {
        opinions.clear();
        for (const auto& node : nodes_)
            if (node.runs())
                opinions.insert(master_as_seen_by(node, slot));
        return opinions.size() == 1 && !opinions.begin()->empty();
    });
    must(agreed, "the nodes do not agree on a slot");
    return node_with_id(*opinions.begin());
}

void redis_cluster::fail_over(const redis_server& master) {
    const auto id = id_of(master);
    for (const auto& range : master.ask({"CLUSTER", "SLOTS"}).items)
        if (id_in(range, master_place) == id) {
            obey(node_with_id(id_in(range, replica_place)), {"CLUSTER", "FAILOVER"});
            until_slot_leaves(static_cast<int>(range.items[0].number), master);
            return;
        }
    throw std::runtime_error{"this node has no slot"};
}

void redis_cluster::until_slot_leaves(int slot, const redis_server& master) {
    must(cli_tests::comes_true(30s, [&] { return &master_of_slot(slot) != &master; }),
         "there was no fail-over");
}

void redis_cluster::begin_move(int slot, const redis_server& from, const redis_server& to) {
    const auto number = std::to_string(slot);
    obey(to, {"CLUSTER", "SETSLOT", number, "IMPORTING", id_of(from)});
    obey(from, {"CLUSTER", "SETSLOT", number, "MIGRATING", id_of(to)});
}

void redis_cluster::finish_move(int slot, const redis_server& from, const redis_server& to) {
    const auto number = std::to_string(slot);
    for (const auto& key : from.ask({"CLUSTER", "GETKEYSINSLOT", number, "1000"}).items)
        obey(from, {"MIGRATE", "127.0.0.1", std::to_string(to.port()), key.text, "0", "5000"});
    for (const auto* node : {&to, &from})
        obey(*node, {"CLUSTER", "SETSLOT", number, "NODE", id_of(to)});
    must(cli_tests::comes_true(15s, [&] { return &master_of_slot(slot) == &to; }),
         "not all nodes learned where the slot is");
}

void redis_cluster::move_slot(int slot, const redis_server& from, const redis_server& to) {
    begin_move(slot, from, to);
    finish_move(slot, from, to);
}

} // namespace holdfast::servers
