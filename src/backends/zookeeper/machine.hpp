#pragma once

// What decides on ZooKeeper, without I/O: sessions, queues, and what to do when an answer is lost.
//
//   attempt ─▶ make a node, list the queue ──┬─ first ─▶ HELD ── release ─▶ remove the node
//     (one flight; folders.hpp says when     │            ▲
//     the number of the node is enough)      │            │
//                                            └─ behind ─▶ WAITING: watch the one before us
//                                                         its end is our turn, or a reason to list
//                                                         again
//
//   connection lost      whatever was on its way is in doubt. Back in the same session, a node
//                        whose making was not confirmed is looked for by its guid; everybody in a
//                        queue looks again; what was to be removed is removed again
//   not done, or who     a server that is too busy says so and stays: the same, a moment later, for
//   knows                those alone who were not answered
//   session over         all its nodes are gone, or will be: the bond is lost, a new session begins
//   no connection for    the same: no server will tell us, if the one we reach knows less than we
//   that long            have seen
//   forget(bond)         the core believes in it no more: the same, from our side
//
// Invariants: we claim only what a node of the present session says; a node that we made is removed
// when nobody wants it, however long that takes; every call is answered once, in time.

#include "backends/zookeeper/folders.hpp"
#include "backends/zookeeper/names.hpp"
#include "backends/zookeeper/operation.hpp"

#include <holdfast/backend.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::zookeeper {

// ------------------------------------------------------------------ what the machine wants done

struct open_session {
    bond_id bond;
};
struct close_session {
    bond_id bond;
};
struct tell_attempted {
    ticket to;
    attempt_answer answer;
};
struct tell_withdrawn {
    ticket to;
    applied certainty;
};
struct tell_released {
    ticket to;
    release_result result;
};
struct tell_renewed {
    ticket to;
    std::vector<renewal_answer> answers;
};
struct tell_granted {
    nonce whose;
    grant given;
};
struct tell_bond_lost {
    bond_id bond;
};
struct tell_grant_lost {
    nonce whose;
};
struct tell_wanted {
    nonce whose;
};
struct tell_link {
    link_state state;
    std::string detail;
};
struct tell_notice {
    std::string sentence;
};

using action = std::variant<operation,
                            open_session,
                            close_session,
                            tell_attempted,
                            tell_withdrawn,
                            tell_released,
                            tell_renewed,
                            tell_granted,
                            tell_bond_lost,
                            tell_grant_lost,
                            tell_wanted,
                            tell_link,
                            tell_notice>;
using actions = std::vector<action>;

/// What somebody writes into a holder's node who would like to have it: Curator's revocation.
inline constexpr std::string_view please_release = "__REVOKE__";

struct rules {
    std::string root{};                          ///< stands before every path: "" or "/chroot"
    duration session = std::chrono::seconds{30}; ///< what is asked for
    duration connect_timeout = std::chrono::seconds{3};
    bool mutex_is_semaphore = false; ///< InterProcessSemaphoreMutex instead of InterProcessMutex
    std::uint64_t first_bond = 1;    ///< two machines of one backend must not share them
};

/// What a node of ours says of us, for humans: one line.
[[nodiscard]] std::string note_of(const party&);

class machine {
public:
    explicit machine(rules);

    /// Before anything else: asks for the first session.
    void start(actions&);

    // The verbs of the seam.
    void attempt(const call&, const std::shared_ptr<const claim>&, joining, instant now, actions&);
    void withdraw(const call&, const std::shared_ptr<const claim>&, instant now, actions&);
    void
    release(const call&, const std::shared_ptr<const claim>&, const grant&, instant now, actions&);
    void renew(const call&, const std::vector<bond_id>&, instant now, actions&);
    void forget(bond_id, actions&);

    // What the session says. Of one that is over, nothing is heard any more.
    void connected(bond_id, std::int64_t session, duration granted, instant now, actions&);
    void suspended(bond_id, instant now, actions&);
    void read_only(bond_id, actions&);
    void expired(bond_id, actions&);
    void unreachable(bond_id, const failure&, instant now, actions&); ///< no server lets us in
    void replied(op_id, const reply&, instant now, actions&);
    void noticed(op_id, seen, instant now, actions&);

    /// Nothing needs to be done before this.
    [[nodiscard]] instant next_time() const noexcept;
    void on_time(instant now, actions&);

    [[nodiscard]] bond_id bond() const noexcept { return session_.bond; }
    [[nodiscard]] bool is_connected() const noexcept { return session_.up; }
    [[nodiscard]] bool is_read_only() const noexcept { return session_.read_only; }
    [[nodiscard]] duration session_time() const noexcept { return session_.granted; }

private:
    struct session_state {
        bond_id bond{};
        std::int64_t id = 0; ///< 0: not yet
        duration granted{};
        duration margin{};
        instant anchor{};    ///< when the last write was sent that the server has confirmed
        instant last_beat{}; ///< sent, and perhaps on its way
        bool up = false;
        bool was_up = false;
        bool read_only = false;
        std::string why_down;    ///< the last that was found out
        bool asks_again = false; ///< a timer will
        zookeeper::folders folders;
    };

    struct goodbye;
    enum class alarm : std::uint8_t { attempt, goodbye, renewal, own_watch, ask_again, silence };
    struct timer {
        alarm what;
        nonce whose{};
        std::shared_ptr<goodbye> tell{};
        op_id op{};
        bond_id bond{};
    };
    using timers = std::multimap<instant, timer>;
    using running = std::optional<timers::iterator>; ///< none: it has rung, or was stopped

    struct goodbye { ///< somebody who waits for removals
        call when;
        bool is_release = false;
        bool was_there = false;
        bool answered = false;
        std::size_t left = 0;
        running limit{};
    };

    /// A node of ours in one folder.
    struct place {
        enum class is : std::uint8_t { absent, being_made, in_doubt, there };
        std::string folder;
        role as = role::lock;
        is how = is::absent;
        std::string node; ///< its name in the folder
        std::int64_t number = 0;

        [[nodiscard]] std::string path() const { return folder + '/' + node; }
    };

    /// What one claim has on the server.
    struct stand {
        enum class is : std::uint8_t {
            idle,    ///< nothing is on its way
            working, ///< something is; the place says what is known
            waiting, ///< a watch will say when to look again
            held,
        };
        std::shared_ptr<const claim> what;
        std::uint64_t order = 0; ///< of asking
        joining join = joining::none;
        is how = is::idle;
        std::optional<call> asked; ///< an attempt that is not answered
        running limit{};           ///< of that attempt
        bool sent = false;         ///< something of that attempt went out
        place queue;               ///< of permits: the mutex in locks
        place lease;               ///< of permits: the lease itself
        op_id listing{};           ///< the list of the queue that counts
        op_id watch{};             ///< whose event we wait for
        std::string watched;       ///< the path, if it is one node
        bool next = false;         ///< that event makes us first
        op_id own_watch{};         ///< on what we hold
        running before_own_watch{};
        bool unchecked = false;         ///< it rests on an event alone
        std::uint32_t tries = 0;        ///< in a row, that led nowhere
        bool unanswered = false;        ///< the last that was asked for it
        bool leaving = false;           ///< nobody wants it any more
        op_id seeking{};                ///< what is in doubt is being looked for with this
        std::shared_ptr<goodbye> waits; ///< who is to be told when it has left
    };

    struct removal {
        std::string path;
        nonce whose;
        std::shared_ptr<goodbye> tell; ///< null: nobody waits
        bool on_its_way = false;
        bool tried_before = false; ///< without an answer: gone may mean that it was we
    };

    // What a reply is for.
    enum class step : std::uint8_t {
        folder, ///< one of the parents
        folder_watched,
        made,   ///< our node
        listed, ///< the queue
        caught_up,
        found,    ///< the queue, to find what may have been made
        verified, ///< what was found
        watching, ///< the one before us
        leases,   ///< the leases, to count them
        checked,  ///< the queue, after a grant that no list has confirmed
        own,      ///< what we hold
        removed,
        renewed,
        alive, ///< a beat of our own
    };
    struct pending {
        step what;
        nonce whose{};
        instant sent{};
        std::uint64_t removal = 0;
        call when{};
        std::string folder{};
        std::vector<renewal_answer> others{}; ///< of a renewal: what is known already
    };
    enum class whose_turn : std::uint8_t { the_first, everybody, the_unanswered };

    [[nodiscard]] static failure refusal(const reply&);
    op_id send(decltype(operation::what), pending, actions&);
    void watch_with(stand&, decltype(operation::what), step, instant now, actions&);
    running set_timer(instant, timer);
    void stop(running&);
    void drop(stand&);
    [[nodiscard]] stand* find(const nonce&);
    [[nodiscard]] stand new_stand(const std::shared_ptr<const claim>&) const;
    [[nodiscard]] bool is_permit(const claim&) const noexcept;
    [[nodiscard]] bool may_prove_it_is_alone(const stand&) const noexcept;
    [[nodiscard]] bond_terms terms() const noexcept;
    void confirmed(instant sent) noexcept;
    void beat_if_need_be(instant now, actions&);

    // A claim's way through the queue. Whatever may end with the stand gone comes last in its
    // caller.
    void proceed(stand&, instant now, actions&);
    void make_node(stand&, place&, instant now, actions&);
    void make_beside_own_write(stand&, instant now, actions&);
    void list_queue(stand&, instant now, actions&);
    void seek(stand&, place&, instant now, actions&);
    void start_over(stand&, place&, instant now, actions&);
    void on_made(stand&, const pending&, const reply&, instant now, actions&);
    void is_first(stand&, bool others_follow, instant now, actions&);
    void on_listed(stand&, op_id, const reply&, instant now, actions&);
    void on_found(stand&, place&, op_id, const reply&, instant now, actions&);
    void on_verified(stand&, place&, op_id, const reply&, instant now, actions&);
    void on_watching(stand&, op_id, const reply&, instant now, actions&);
    void on_leases(stand&, op_id, const reply&, instant now, actions&);
    void check(stand&, instant now, actions&);
    void on_checked(stand&, const reply&, instant now, actions&);
    void on_own(stand&, op_id, const reply&, actions&);
    void its_turn(stand&, bool others_follow, instant now, actions&);
    void hold(stand&, bool others_follow, instant now, actions&);
    void refuse(stand&, std::uint32_t before, instant now, actions&);
    void fail(stand&, failure, instant now, actions&);
    void answer(stand&, attempt_answer, actions&);
    void watch_own(stand&, instant now, actions&);
    void lose(stand&, actions&);

    // Leaving.
    void leave(stand&, std::shared_ptr<goodbye>, instant now, actions&);
    void clear_away(stand&, instant now, actions&);
    [[nodiscard]] bool wait_for_removals(const nonce&, const std::shared_ptr<goodbye>&);
    void doom(std::string path, const nonce&, std::shared_ptr<goodbye>, instant now, actions&);
    void send_removal(std::uint64_t, instant now, actions&);
    void on_removed(std::uint64_t, const pending&, const reply&, actions&);
    void settle(goodbye&, actions&);

    void go_on(whose_turn, instant now, actions&);
    void ask_again(instant now);
    void begin_session(actions&);
    void end_session(actions&);

    const rules rules_;
    session_state session_;
    std::uint64_t last_op_ = 0;
    std::uint64_t last_bond_;
    std::uint64_t last_removal_ = 0;
    std::uint64_t last_stand_ = 0;
    std::map<nonce, stand> stands_;
    std::map<std::uint64_t, removal> removals_;
    std::unordered_map<std::uint64_t, pending> pending_; // by op
    std::unordered_map<std::uint64_t, nonce> watches_;   // by op
    timers timers_;
    running silence_{}; ///< until the session counts as over
};

} // namespace holdfast::zookeeper
