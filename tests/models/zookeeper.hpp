#pragma once

// A ZooKeeper ensemble: a tree of nodes, a leader who decides the order of all changes, and servers
// that follow.
//
//   a client ── one connection, in order ──▶ a server ── writes, catch_up ──▶ the leader
//            ◀── replies in the same order ── reads: what it has applied      log: 1 2 3 4 …
//                events of watches, once
//
// A server lags, sometimes for long, but a session never sees less than it has seen. It may be cut
// off from the leader, and still answer reads and pings: the leader hears nothing of those sessions
// meanwhile. One that is too busy answers that it was not done, or that it does not know. A session
// is ended by the leader's clock, up to a third of its time and half a tick
// after the last word too early. Containers vanish some time after they are empty.
//
// Who holds is said by the tree alone, by Curator's rule, at the leader.

#include "models/wire.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace holdfast::models {

struct zookeeper_settings {
    duration session{}; ///< what every session is granted
    duration lag{};     ///< of a server behind the leader, at most
    bool mutex_is_semaphore = false;
    bool reaps = true; ///< removes containers: then somebody may overtake who asks a little later
};

class zookeeper_server final : public server {
public:
    zookeeper_server(machine_room&, const zookeeper_settings&);

    void receive(const request&) override;
    void restart(memory) override; ///< one server of several, or its line to the leader
    void take_away(const std::string& name) override;
    [[nodiscard]] bool backs(const claim&) override;
    [[nodiscard]] std::size_t remembers(std::optional<process_id>) override;

private:
    using session_number = std::int64_t;

    struct node {
        std::string data;
        std::int64_t created = 0;          // czxid
        std::int64_t changed = 0;          // mzxid
        std::int64_t children_changed = 0; // pzxid
        session_number owner = 0;
        bool is_container = false;
        bool had_children = false;
        std::int32_t made_below = 0;
        std::set<std::string> children;
        std::optional<nonce> whose{}; // as its name tells
        bool reads = false;
        std::string place{}; // by which Curator sorts it
    };
    struct change {
        enum class kind : std::uint8_t { make, remove, write };
        kind what{};
        std::string path;
        std::string data{};
        session_number owner = 0;
        bool is_container = false;
    };
    using changes = std::vector<change>; // of one transaction
    using tree = std::map<std::string, node>;

    struct session {
        process_id of{};
        duration touched{};
        duration early{}; // how much too early it will be ended
        bool alive = true;
    };
    struct member {
        tree nodes;
        std::size_t applied = 0; // how many transactions
        bool cut_off = false;    // from the leader
        bool slow = false;       // hears of nothing new, but is heard
        bool busy = false;       // says so instead of doing what it is asked, now and then
    };
    struct waiting {
        zookeeper::operation what;
        std::optional<zookeeper::reply> done; // at the leader
        std::size_t behind = 0;               // answered when so many are applied
    };
    struct connection {
        session_number session = 0;
        std::size_t at = 0;
        std::deque<waiting> queue;
        std::set<std::string> data_watches;
        std::set<std::string> child_watches;
    };

    void greet(process_id, const hello&);
    void take(process_id, connection&, const zookeeper::operation&);
    void pump(process_id);
    void ask_leader(connection&, waiting&);
    [[nodiscard]] zookeeper::reply read(connection&, const zookeeper::operation&);
    [[nodiscard]] zookeeper::reply execute(session_number, const zookeeper::operation&);
    [[nodiscard]] zookeeper::reply make(session_number, const zookeeper::create&);

    void commit(changes);
    void apply_next(std::size_t who);
    void catch_up(std::size_t who, std::size_t up_to);
    static void apply(tree&, const changes&, std::int64_t number);
    static void sort(node&, const std::string& name);
    void fire(std::size_t who, const change&, std::int64_t number);
    void reap_later(const std::string& container);
    void hang_up_all(std::size_t who);
    void join(std::size_t who);

    [[nodiscard]] session_number begin_session(process_id);
    void watch_session(session_number);
    void end_session(session_number);

    [[nodiscard]] bool is_permit(const claim&) const;
    [[nodiscard]] bool find_backing(const claim&) const;
    [[nodiscard]] bool holds(const std::string& folder, const node&, std::uint32_t permits) const;
    void see_who_holds(const std::string& folder);
    void say(process_id, saying);

    machine_room& room_;
    const zookeeper_settings settings_;
    std::vector<changes> log_;
    std::vector<member> members_; // the first leads
    std::map<session_number, session> sessions_;
    std::map<process_id, session_number> newest_; // of each process
    std::map<process_id, connection> connections_;
    std::set<std::int64_t> granted_; // by the number of the node
    std::map<nonce, bool> backed_;   // what was found out since the last change
};

} // namespace holdfast::models
