#pragma once

// What a session knows of the folders in which its queues are.
//
// Whether they are there, as far as we know. And, for who comes back to the same name again and
// again, that nobody else is in the queue, without a look: ZooKeeper numbers what is made in a
// folder. If our last node was first, so that nothing with a smaller number was left, and it was
// there until we removed it, and what we make now has the next number, then nobody has made
// anything since, and we are first.
//
// But a folder that is empty may be removed and made anew by somebody else, and its numbers begin
// again. So the folder itself is watched: a session hears of its end before it hears of anything
// that was made in its successor.
//
//   first, as a list shows ── removed ─▶ the next number, first, as a list shows: now it is watched
//      ▲                                                          │ removed
//      │                                                          ▼
//      └─ somebody else came, a removal was not      the next number, first: no list
//         confirmed, the folder changed or went,                  │ ▲
//         the connection broke                                    └─┘ removed

#include "backends/zookeeper/operation.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

namespace holdfast::zookeeper {

class folders {
public:
    [[nodiscard]] bool knows(const std::string& path) const;
    void are_there(const std::string& path);
    void may_be_gone(const std::string& path);

    /// Whether what is made there next will probably be first, and its number be the proof.
    [[nodiscard]] bool expects_nobody(const std::string& path) const;
    /// This node of ours was made: its number says that it is first, and no list needs to show it.
    [[nodiscard]] bool proves_first(const std::string& node) const;

    /// Nobody was expected, but the number proves nothing.
    void is_surprised(const std::string& path);

    /// Nothing is before it. True: it would pay to watch the folder, as long as it stands.
    [[nodiscard]] bool is_first(const std::string& node);
    void is_being_removed(const std::string& node);
    void is_removed(const std::string& node, bool by_us_for_sure);

    void asked_to_watch(const std::string& path, op_id);
    void is_watched(op_id, bool yes);
    /// Whether the event was of a folder.
    bool noticed(op_id, seen);

    /// What we did not hear of may have happened.
    void lost_sight();

private:
    struct folder {
        enum class last_is : std::uint8_t { there, being_removed, removed };
        bool there = false;
        op_id watch{};
        bool watched = false;
        std::uint8_t watches = 0; ///< in the client: those of broken connections stay
        std::string last;         ///< our last node that was first, or none
        last_is how = last_is::there;
        bool in_a_row = false; ///< it came right after the one before it
    };

    [[nodiscard]] folder* whose_last_is(const std::string& node);
    static void lose_the_thread(folder&);
    void forget_some();

    void has_one_watch_less(const std::string& path, folder&);

    std::map<std::string, folder> all_;
    std::size_t watched_bytes_ = 0; // of paths: after a break they are sent in one piece
    std::unordered_map<std::uint64_t, std::string> watches_; // by op
};

} // namespace holdfast::zookeeper
