#pragma once

// Renews bonds, many in one flight, and says when one is lost.
//
//              due ────────▶ ASKED ── yes ──▶ (deadline moves, next due at ttl/3)
//               ▲              │ ├── "not yours" ──▶ LOST
//               │  retry soon  │ │
//               └── unknown ───┘ └── deadline passed, answered or not ──▶ LOST
//
// Invariants: a bond is renewed only while something lives on it, and never after it was lost;
// its deadline never goes back; an unanswered renewal leaves the deadline where it was.

#include "lease/actions.hpp"
#include "lease/agenda.hpp"
#include "lease/validity.hpp"
#include "runtime/random.hpp"

#include <boost/intrusive/list.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_set>

namespace holdfast::detail {

struct bond;

/// Something that ends with its bond: a grant, or a place in the engine's queue.
struct on_bond : boost::intrusive::list_base_hook<> {
    enum class kind : std::uint8_t { grant, place };
    explicit on_bond(kind k) noexcept : living{k} {}
    const kind living;
    bond* by = nullptr;
};

struct bond : agenda_item {
    explicit bond(const bond_terms& t) : agenda_item{kind::bond}, terms{t} {}

    bond_terms terms; // as last confirmed
    std::shared_ptr<bond_belief> belief = std::make_shared<bond_belief>();
    bool renewable = false;
    bool asked = false;    // a renewal is on its way
    bool in_doubt = false; // the last one was not answered
    instant asked_at{};
    instant renew_at = never;
    instant stop_at = never; // when the first lease on it must be asked to stop
    boost::intrusive::list<on_bond> living;

    [[nodiscard]] instant deadline() const noexcept {
        return instant{duration{belief->deadline.load(std::memory_order_relaxed)}};
    }
};

class keeper {
public:
    keeper(agenda& when, random_source& chance, notes n)
        : agenda_{when}, chance_{chance}, notes_{n} {}

    /// Whether there is anything to believe in these terms: not overdue, and the bond not lost.
    [[nodiscard]] bool may_be_believed(const bond_terms&, instant now) noexcept;

    /// Lets something live on a bond, new or known, and on no other. Null if it cannot be believed.
    [[nodiscard]] bond* adopt(const bond_terms&, renewal, on_bond&, instant now);

    /// It no longer lives: stops renewing a bond that carries nothing else.
    void leave(on_bond&);

    /// Somebody on this bond wants to be stopped at `when`; never after all have been.
    void stop_by(bond&, instant when);

    [[nodiscard]] bond* find(bond_id) noexcept;

    /// The bond is gone, together with what lives on it; the caller has dealt with that.
    void remember_lost(bond&, actions&);

    /// At the bond's time: true if its deadline has passed and it is lost. Else it may have
    /// asked to be renewed, together with others that are nearly due.
    [[nodiscard]] bool on_time(bond&, instant now, ticket next, actions&);

    /// The answer for one bond: true if it is lost.
    [[nodiscard]] bool answered(const renewal_answer&, instant now, actions&);

    /// Forgets everything without a word: the process is gone.
    void clear() noexcept;

    [[nodiscard]] std::size_t size() const noexcept { return bonds_.size(); }

private:
    void confirm(bond&, const bond_terms&);
    void schedule(bond&);
    void ask(bond& first, instant now, ticket, actions&);

    agenda& agenda_;
    random_source& chance_;
    const notes notes_;
    boost::unordered_flat_map<bond_id, std::unique_ptr<bond>, std::hash<bond_id>> bonds_;
    std::unordered_set<bond_id> lost_; // a late grant must not bring one back
    std::deque<bond_id> lost_order_;   // so that only the latest are remembered
};

} // namespace holdfast::detail
