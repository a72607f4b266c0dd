#pragma once

// Redlock, done right: N independent engines of one kind answer as one. Events in, actions out; the
// clock is a parameter, there is no I/O.
//
//        round 1, all at once                 round 2, only where it is lower
//   ┌──────────────────────────────┐     ┌─────────────────────────────────────┐
//   │ m1 granted 41                │     │ m1 raise to 57 ─▶ yes               │
//   │ m2 granted 57    max = 57 ───┼────▶│ m2 has 57                           ├─▶ granted, 57
//   │ m3 no answer                 │     │ m3 comes late: raised, and a keeper │
//   └──────────────────────────────┘     └─────────────────────────────────────┘
//        fewer than q possible ─▶ taken back on all who may have it ─▶ contended, or unavailable
//
// A deal is one nonce at all members; a seat is that nonce at one of them. It is drawn anew for
// each deal, whatever nonce the core asks with: a round that failed is taken back, and a withdrawal
// that comes late must not find the grant of a later round.
//
//   seat:  NOTHING ── attempt ──▶ GRANT ── release, withdraw, "lost" ──▶ NOTHING
//             └── no answer ──▶ MAYBE ── withdraw, until certain or T + D has passed ──▶ NOTHING
//
// Invariants:
//   · one request at a time for each seat: what it did is known, or known to be unknown, before the
//     next (so nothing overtakes);
//   · MAYBE counts as granted for nobody: not for us when we count, not as free when we clean up;
//   · a seat is a *keeper* only if it has our grant and its fence is at least the deal's. Granted
//     and renewed mean q keepers. Two sets of q share a member: so there is one holder, and the
//     next one's largest fence is above ours, because it saw a member that had taken ours;
//   · what is believed ends when the q-th best keeper ends.
//
// Why a seat that was lost may be taken again while the lease is held (`mend`): it is asked for
// with a renewal, but counts only from the next one on, which the core asks for before the old
// deadline. So at the moment of asking, q keepers were ours, and had been so since before the
// deadline: nobody else can have had a quorum in between.
//
// Why members are asked with joining::none: a member's queue would give its lock to the first in
// *its* line, and three members to three different waiters, each of which keeps its own and waits
// for the others. Only members whose queue brings a hint and never a grant are joined.

#include "lease/agenda.hpp"
#include "waiting/talk.hpp"

#include <holdfast/backend.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <variant>
#include <vector>

namespace holdfast::quorum {

using member = std::size_t;

struct rules {
    std::size_t members = 3;
    std::size_t needed = 2;  // q
    bool fences = true;      // members have fences that can be raised
    bool hints = false;      // to queue at a member brings hints, and never a grant
    bool one_by_one = false; // members block: each gets its share of the time, one after the other
    ttl_scope ttl = ttl_scope::grant;
};

/// The smallest number such that two sets of it share more members than may forget.
[[nodiscard]] constexpr std::size_t needed_of(std::size_t members,
                                              std::size_t may_forget) noexcept {
    return (members + may_forget) / 2 + 1;
}

// To a member.
struct ask_attempt {
    member of;
    holdfast::call call;
    std::shared_ptr<const claim> what;
    joining join;
};
struct ask_raise {
    member of;
    holdfast::call call;
    std::shared_ptr<const claim> what;
    fence least;
};
struct ask_withdraw {
    member of;
    holdfast::call call;
    std::shared_ptr<const claim> what;
};
struct ask_release {
    member of;
    holdfast::call call;
    std::shared_ptr<const claim> what;
    grant given;
};
struct ask_renew {
    member of;
    holdfast::call call;
    std::vector<bond_id> bonds;
};
struct ask_forget {
    member of;
    bond_id bond;
};

// To the core.
struct say_attempted {
    ticket to;
    attempt_answer answer;
};
struct say_withdrawn {
    ticket to;
    applied certainty;
};
struct say_released {
    ticket to;
    release_result result;
};
struct say_renewed {
    ticket to;
    std::vector<renewal_answer> answers;
};
struct say_woken {
    nonce whose;
};
struct say_lost {
    bond_id bond;
};
struct say_wanted {
    nonce whose;
};

using action = std::variant<ask_attempt,
                            ask_raise,
                            ask_withdraw,
                            ask_release,
                            ask_renew,
                            ask_forget,
                            say_attempted,
                            say_withdrawn,
                            say_released,
                            say_renewed,
                            say_woken,
                            say_lost,
                            say_wanted>;
using actions = std::vector<action>;

class machine {
public:
    machine(const rules& r, detail::random_source& chance);
    ~machine();
    machine(const machine&) = delete;
    machine& operator=(const machine&) = delete;

    // What the core wants.
    void attempt(const call&, const std::shared_ptr<const claim>&, joining, instant now, actions&);
    void withdraw(const call&, const std::shared_ptr<const claim>&, instant now, actions&);
    void release(const call&, const std::shared_ptr<const claim>&, instant now, actions&);
    void renew(const call&, std::span<const bond_id>, instant now, actions&);
    void forget(bond_id, instant now, actions&);

    // What members say. Tickets are ours, and name the member too.
    void attempted(ticket, const attempt_answer&, instant now, actions&);
    void raised(ticket, holdfast::raised, instant now, actions&);
    void withdrawn(ticket, applied, instant now, actions&);
    void released(ticket, release_result, instant now, actions&);
    void renewed(ticket, std::span<const renewal_answer>, instant now, actions&);
    void woken(member, const nonce&, instant now);
    void bond_lost(member, bond_id, actions&);
    void grant_lost(member, const nonce&, instant now, actions&);
    void wanted(const nonce&, actions&);

    // What time it is.
    void on_time(instant now, actions&);
    [[nodiscard]] instant next_due() const noexcept { return agenda_.next(); }

    /// How many nonces are not yet certain to be gone.
    [[nodiscard]] std::size_t deals() const noexcept { return deals_.size(); }

private:
    enum class verb : std::uint8_t { none, attempt, raise, withdraw, release, renew };
    enum class stake : std::uint8_t { nothing, grant, maybe };

    /// Our nonce at one member.
    struct seat {
        stake what = stake::nothing;
        grant given;            // if it has one
        verb busy = verb::none; // what is on its way
        bool to_ask = false;    // attempt as soon as nothing is on its way
        bool raise_tried = false;
        fence raising;           // to which it is being raised
        bool refused = false;    // this round: a definite no
        bool free = false;       // when we last heard: nobody else has it
        bool listens = false;    // it will send hints, until withdrawn
        bool asked_back = false; // since it was last asked for
        std::optional<failure> failed;
        release_result gave_back = release_result::unknown;
        instant again_at{}; // not before: the last withdrawal failed
    };

    struct deal : detail::agenda_item {
        deal(const nonce& n, std::shared_ptr<const claim> c, std::size_t members)
            : agenda_item{kind::talk}, asker{n}, what{std::move(c)}, seats(members) {}
        const nonce asker; // the core's nonce
        const std::shared_ptr<const claim> what;
        std::vector<seat> seats;
        bool wanted = true;  // else whatever is there is taken back
        bool final = false;  // … and so are the places from which hints come
        bool silent = false; // the time of this round is over: what has not come does not count
        bool held = false;   // granted, and told so
        joining join = joining::none; // how members are asked
        holdfast::fence fence;        // what keepers have at least
        bond_id bond{};
        std::optional<call> asked; // an attempt that is not answered yet
        std::optional<call> withdrawing;
        std::optional<call> releasing;
        instant limit = never;   // of this round, or of the withdrawal or release
        instant wake_at = never; // enough members seem free
        instant last_sent{};
        std::optional<party> holder; // one of those in the way
        detail::back_off pause = detail::after_failures();
    };

    /// A claim of the core's: its deal, if it has one now, and those that are being taken back.
    struct asking {
        std::optional<nonce> now;
        std::set<nonce> leaving;
        bool waits = false;    // it will be asked again, or withdrawn
        unsigned refusals = 0; // in a row
    };

    /// What a member keeps grants alive by; several deals may live on one.
    struct member_bond {
        bond_terms terms;
        std::uint64_t renewed_in = 0; // the latest flight that it said yes to
        std::set<nonce> carries;
    };

    /// One renewal of many bonds.
    struct flight : detail::agenda_item {
        flight(std::uint64_t n, const call& c) : agenda_item{kind::bond}, number{n}, asked{c} {}
        const std::uint64_t number;
        const call asked;
        std::vector<std::pair<bond_id, nonce>> bonds;
        std::size_t on_their_way = 0;
    };

    struct question {
        verb what = verb::none;
        member of = 0;
        nonce about;              // of a seat
        std::uint64_t flight = 0; // of a renewal
    };

    // Asking.
    [[nodiscard]] deal& deal_for(const std::shared_ptr<const claim>&, asking&);
    void judge(deal&, instant now, actions&);
    void grant_it(deal&, instant now, actions&);
    void fail(deal&, instant now, actions&);
    [[nodiscard]] attempt_answer answer_for(deal&, instant now);
    [[nodiscard]] duration pause_for(deal&, instant now);
    [[nodiscard]] bool is_keeper(const deal&, const seat&) const noexcept;
    [[nodiscard]] bool may_become_keeper(const deal&, const seat&) const noexcept;
    [[nodiscard]] bool may_have(const deal&) const noexcept; // q seats may still have it
    [[nodiscard]] static bool has_something(const deal&) noexcept;
    [[nodiscard]] bool may_be_contended(const deal&) const noexcept;
    [[nodiscard]] static bool was_heard(const seat& s) noexcept {
        return s.refused || s.what == stake::grant;
    }
    [[nodiscard]] bond_terms terms_of(const deal&, instant now) const;

    // Taking back.
    void leave(deal&, const call&, instant now, actions&);
    void judge_leaving(deal&, actions&);
    [[nodiscard]] bool is_clean(const deal&, const seat&) const noexcept;
    [[nodiscard]] bool all_clean(const deal&) const noexcept;
    [[nodiscard]] static bool must_be_asked_back(const seat&) noexcept;
    void let_expire(deal&, instant now);
    [[nodiscard]] instant gone_at(const deal&) const noexcept;

    // Seats.
    void settle(deal&, instant now, actions&); // may end it
    void pursue(deal&, instant now, actions&);
    void pursue(deal&, member, instant now, actions&);
    void take(deal&, member, const grant&);
    void lose(deal&, member);
    void lose_all_on(member, bond_id, actions&);
    void end(deal&);

    // Renewing.
    void mend(deal&, instant now, actions&);
    void judge(flight&, bool time_is_up, instant now, actions&);

    // Time, and names.
    void schedule(deal&, instant now);
    [[nodiscard]] call member_call(const question&, const call&, duration ttl, instant now);
    [[nodiscard]] instant end_of(verb, const call&, duration ttl, instant now) const noexcept;
    [[nodiscard]] instant answer_by(const question&, const call&, duration, instant now) const;
    [[nodiscard]] std::optional<question> take_question(ticket);
    [[nodiscard]] deal* find(const nonce&) noexcept;
    [[nodiscard]] deal* answered(ticket, question&);
    [[nodiscard]] deal* deal_of(const nonce& asker) noexcept;
    void part_from(deal&);

    const rules rules_;
    detail::random_source& chance_;
    detail::agenda agenda_;
    std::uint64_t tickets_ = 0;
    std::uint64_t bonds_made_ = 0;
    std::uint64_t flights_made_ = 0;
    std::map<nonce, asking> askings_; // by the core's nonce
    std::map<nonce, deal> deals_;     // by the members'
    std::map<bond_id, nonce> bonds_;
    std::map<std::uint64_t, flight> flights_;
    std::unordered_map<ticket, question> questions_;
    std::vector<std::map<bond_id, member_bond>> kept_; // by each member
};

} // namespace holdfast::quorum
