#pragma once

// The rules of the queue, carried out on the rows of one file inside one write transaction.
//
//   a name:   holders            waiters, in order
//            ┌───────┐          ┌────┬────┬────┐     serve(): the first who goes with the holders
//            becomes │ h   h │ ◀─serve──│ w1 │ w2 │ w3 │     one, and so on until one does not.
//            Frozen waiters └───┬───┘          └────┴────┴────┘     are passed over; nobody else is
//            overtaken.
//                │                ▲
//                ▼                └ attempt(): only if it cannot be served at once
//   release · withdraw · settle (dead, or over) · force_release: a row goes, then serve()
//
// Who watches whom: a waiter watches the process of the waiter before it; the first one watches the
// holders. So each death wakes one process. When those before a waiter change in any other way than
// by its predecessor becoming the only holder, it is sent the letter "look".

#include "backends/sqlite/connection.hpp"
#include "backends/sqlite/liveness.hpp"
#include "backends/sqlite/protocol.hpp"

#include <holdfast/backend.hpp>

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace holdfast::sqlite {

/// What is to be done once the transaction stands, and not at all if it does not.
struct aftermath {
    struct addressed {
        process_id to{};
        letter what;
    };
    struct push {
        process_id to{};
        grant given;
        bool wanted = false; ///< others wait behind it
        instant at{};        ///< when it was granted
    };
    std::vector<addressed> letters;
    std::vector<push> pushes;
    std::vector<nonce> taken;       ///< grants of ours that an operator took away
    std::vector<process_id> buried; ///< their FIFOs are of no use any more
};

/// No number is left below counter.reserved_to: roll back, reserve_fences(), and do it all again.
struct out_of_fences {
    std::int64_t beyond = 0; ///< the new end lies above this, wherever the counter stands
};

/// The file does not know us: our process row was taken for a dead one's, or deleted.
struct unregistered : trouble {
    using trouble::trouble;
};

/// A bond of ours as it stands in the file.
struct kept {
    bond_id id{};
    bond_row row;
};

/// What attempt() needs to know of us.
struct asker {
    std::optional<bond_id> usual; ///< our bond for this ttl and lock delay, if it is not forgotten
    bond_id fresh{};              ///< the number for a new one
    children of_us{};             ///< what they do with it
    const std::unordered_set<bond_id>& forgotten;
};

struct attempted {
    attempt_answer answer;
    std::optional<kept> bond;      ///< what keeps the grant or the place
    std::optional<bond_id> lost;   ///< a bond of ours that was not there any more
    std::vector<process_id> watch; ///< whose end concerns us while we wait
    bool queued = false;
    bool wanted = false; ///< granted, and others wait
};

/// Who is behind a number. That never changes, so it is asked for once.
using acquaintances = std::unordered_map<process_id, party>;

class ledger {
public:
    ledger(connection& db, watch_list& watches, acquaintances& met, process_id self) noexcept
        : db_{db}, watches_{watches}, met_{met}, self_{self} {}

    [[nodiscard]] attempted attempt(const claim&, joining, const asker&, instant now, aftermath&);
    /// Says which bond went with it, if it was an explicit lease's own.
    [[nodiscard]] std::optional<bond_id> withdraw(const claim&, instant now, aftermath&);
    [[nodiscard]] bool release(const claim&, const grant&, instant now, aftermath&);
    [[nodiscard]] std::optional<kept> renew(bond_id, instant now, aftermath&);
    [[nodiscard]] bool raise_fence(const claim&, fence least);
    [[nodiscard]] std::size_t force_release(const std::string& name, instant now, aftermath&);

    /// A grant of ours that somebody else made. Needs no transaction.
    [[nodiscard]] std::optional<aftermath::push> find_grant(const std::string& name, const nonce&);

    /// What an operator took from us. Needs no transaction.
    [[nodiscard]] std::vector<nonce> taken_from_us();

    /// Ends a bond of ours that was forgotten, once its time and its lock delay are over.
    void end_forgotten(bond_id, instant now, aftermath&);

    void enter(const party&, instant now, aftermath&);
    void leave(instant now, aftermath&);

    /// The last thing in every transaction: those who were found dead on the way.
    void bury_the_dead(instant now, aftermath&);

private:
    struct queue_view {
        std::optional<waiter_row> mine;
        std::optional<waiter_row> nearest; ///< the last before us who is not frozen
        std::uint32_t ahead = 0;           ///< how many are before us; 0 if all are frozen
        std::int64_t last = 0;             ///< the place of the last one, if we have none
        bool empty = true;
    };

    /// The next fence, and the end of those reserved.
    struct fence_range {
        std::int64_t next = 0;
        std::int64_t end = 0;
    };
    /// What one question tells of a name and of us.
    struct first_look {
        bool idle = false; ///< nobody holds it, nobody waits for it
        fence_range fences;
        std::optional<bond_row> usual;
    };

    [[nodiscard]] first_look glance(const std::string& name, bond_id usual);
    [[nodiscard]] bool has_waiters(const std::string& name);
    [[nodiscard]] std::vector<holder_row> holders_of(const std::string& name);
    [[nodiscard]] queue_view queue_of(const std::string& name, const nonce& mine, instant now);
    [[nodiscard]] queue_view queue_up_to(const std::string& name, const nonce& mine, instant now);
    [[nodiscard]] queue_view end_of_queue(const std::string& name, instant now);
    [[nodiscard]] liveness life_of(process_id);

    /// One attempt on its way: what was asked, by whom, when, and what has come of it so far.
    struct trial {
        const claim& what;
        const asker& us;
        instant now;
        aftermath& after;
        attempted result{};
    };
    void hear_queue(trial&, joining, std::vector<holder_row>, queue_view);
    void keep_bond(trial&, std::optional<bond_id> known);
    void keep_bond(trial&, std::optional<bond_id> known, const std::optional<bond_row>& found);
    void give(trial&, fence_range);
    void say_yours(trial&, const holder_row&);
    void say_wait(trial&, joining, const queue_view&, const std::vector<holder_row>&);
    [[nodiscard]] contended refusal(trial&, const queue_view&, const std::vector<holder_row>&);
    [[nodiscard]] std::optional<bond_id> known_bond(const trial&, const bond_id* standing) const;
    [[nodiscard]] std::optional<party> party_of(process_id);
    [[nodiscard]] std::optional<bond_row> find_bond(bond_id);
    [[nodiscard]] fence_range fences();
    [[nodiscard]] fence own_write(const claim&);
    [[nodiscard]] std::pair<fence, std::uint32_t> take_fence(mode, fence_range);

    // These two say whether they changed anything.
    bool serve(const std::string& name, instant now, aftermath&);
    bool settle(const std::string& name, const nonce& but, instant now, aftermath&);
    void admit(const std::string& name, const waiter_row&, bool wanted, instant now, aftermath&);
    void end_bond(const std::string& name, const holder_row&, instant now, aftermath&);
    enum class end : std::uint8_t { died, silent };
    void bury(process_id, end, instant now, aftermath&);
    void sweep(instant now, aftermath&);

    connection& db_;
    watch_list& watches_;
    acquaintances& met_;
    process_id self_;
    std::vector<process_id> found_dead_;
};

/// A row of query::holders_of or query::all_holders.
[[nodiscard]] holder_row read_holder(const rows&);

} // namespace holdfast::sqlite
