#pragma once

// What one core has asked of its engine, nonce by nonce, and what it still owes: everything that
// may have been applied must be released, withdrawn or lost in the end, and after that never be
// asked for again.

#include "lease/actions.hpp"
#include "models/sighting.hpp"

#include <holdfast/backend.hpp>

#include <map>
#include <set>

namespace holdfast::simulation {

class ledger {
public:
    ledger(ttl_scope scope, models::sightings& seen) : scope_{scope}, seen_{seen} {}

    // What the core decides. Throws violation I4 if it may not.
    void decided(const detail::action&);
    void held(const nonce&, bond_id); // somebody was given it
    void lost(const claim&);          // … and has lost it

    // What the engine answers, before the core hears it.
    void attempted(ticket, const attempt_answer&);
    void withdrawn(ticket, applied);
    void released(ticket, release_result);
    void pushed(const nonce&);
    void taken(const nonce&); // by an operator
    void hint_lost(const nonce&);

    [[nodiscard]] bool has_left(const nonce&) const;

    /// Throws violation I5 if something was left behind.
    void check_nothing_left_behind() const;

private:
    struct acquisition {
        enum class state : std::uint8_t { asking, held, leaving, over };
        state now = state::asking;
        bond_id bond{};
        bool asked = false;       // an attempt is on its way
        bool maybe_there = false; // the engine may know of it
        bool unknown_before = false;
        bool hint_lost = false;
        bool release_sent = false;
        bool may_expire = false; // one who used it was lost, and its lock delay counts
    };

    void attempt(const detail::do_attempt&);
    void withdraw(const detail::do_withdraw&);
    void release(const detail::do_release&);
    void renew(const detail::do_renew&);
    void forget(const detail::do_forget&);
    [[nodiscard]] acquisition* take(ticket);

    const ttl_scope scope_;
    models::sightings& seen_;
    std::map<nonce, acquisition> acquisitions_;
    std::map<ticket, nonce> open_;
    std::map<bond_id, nonce> bonds_; // where each grant has its own
    std::set<bond_id> forgotten_;
};

} // namespace holdfast::simulation
