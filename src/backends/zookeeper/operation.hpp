#pragma once

// What is said to ZooKeeper, and what it answers. What concerns one folder is done and answered in
// the order of asking; only a node that is made `alone` may be answered later.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace holdfast::zookeeper {

/// Names one operation. Its reply carries the same number, and so does the event of a watch it set.
enum class op_id : std::uint64_t {};

enum class lives : std::uint8_t {
    while_it_has_children, ///< a container: the server removes it when it is empty again
    with_the_session,
    with_the_session_and_numbered,
};

struct create {
    std::string path;
    std::string data;
    zookeeper::lives lives;
    bool alone = false; ///< who wants it asks for nothing more before this is answered
};
struct list {
    std::string path;
    bool watch = false; ///< tell when a child comes or goes, once
};
struct look {
    std::string path;
    bool watch = false; ///< tell when it changes or goes, once
};
struct remove {
    std::string path;
};
struct write {
    std::string path;
    std::string data;
};
struct catch_up { ///< what is asked after this sees whatever was done before it
    std::string path;
};
struct beat {}; ///< a write that changes nothing: the leader has seen that this session lives

struct operation {
    op_id id{};
    std::variant<create, list, look, remove, write, catch_up, beat> what;
};

enum class outcome : std::uint8_t {
    ok,
    no_node,
    exists,
    no_rights,
    refused, ///< anything else that the server said no to
    lost,    ///< the connection broke: it may have been done or not
    over,    ///< the session is over
};

/// Its session or its connection ended under it, or the server was too busy: it may have been done.
[[nodiscard]] constexpr bool is_unanswered(outcome how) noexcept {
    return how == outcome::lost || how == outcome::over;
}
[[nodiscard]] constexpr bool is_gone(outcome how) noexcept { return how == outcome::no_node; }

struct node_facts {
    std::int64_t created_by = 0; ///< the number of the transaction: czxid
    std::int64_t session = 0;    ///< whose ephemeral node it is, or 0
    std::int64_t made_at_ms = 0; ///< on the server's wall clock
};

struct reply {
    outcome how = outcome::lost;
    std::string path{}; ///< of what was made, with its number
    node_facts facts{};
    std::string data{};
    std::vector<std::string> children{};
    std::string words{}; ///< the error, for humans
};

enum class seen : std::uint8_t { deleted, changed, children_changed };

} // namespace holdfast::zookeeper
