#pragma once

// The local queue for one name and one shape of claim: who of us is next, and whether a lease goes
// round inside this process or back to the engine.
//
//      wishes (in order)      talks with the engine          grants we have
//      ┌───┬───┬───┐        ┌─────────────────────┐        ┌───────────────┐
//   ──▶│ 3 │ 2 │ 1 │        │ ATTEMPTING, WAITING, │ ─────▶ │ fence, bond,  │──▶ leases
//      └───┴───┴───┘        │ WITHDRAWING          │        │ users, passes │
//            ▲              └─────────────────────┘        └───────┬───────┘
//            └── pass: at most 64 times or 50 ms, never if fair ◀───┤ last user released
//                                                                   └──▶ release to the engine
//
// It passes a lease only between equal claims; different shapes meet in the engine.
// Invariants: an exclusive or permit grant has at most one user; plain turnstiles have at most one
// talk that is not withdrawing; a fair wish has its own talk and no grant is ever passed to it.

#include "lease/keeper.hpp"
#include "waiting/talk.hpp"
#include "waiting/wish.hpp"

#include <holdfast/backend.hpp>

#include <boost/container/small_vector.hpp>
#include <boost/intrusive/list.hpp>

#include <list>
#include <memory>
#include <optional>
#include <string>

namespace holdfast::detail {

/// What must be equal for a lease to be passed on. (The name is the key of the map it is found in.)
struct shape {
    holdfast::kind kind;
    holdfast::mode mode;
    std::uint32_t permits;
    duration ttl;
    duration lock_delay;
    bool renew;
    queueing order;
    holdfast::waiting waiting;
    std::optional<nonce> within; // the write of ours under which it reads

    friend bool operator==(const shape&, const shape&) = default;
    [[nodiscard]] static shape of(const request&) noexcept;
};

/// One grant of the engine, and those of us who use it.
struct engine_grant : on_bond {
    engine_grant(turnstile& t, std::shared_ptr<const claim> c, const grant& g, instant now)
        : on_bond{on_bond::kind::grant}, at{t}, what{std::move(c)}, given{g}, since{now} {}

    turnstile& at;
    std::shared_ptr<const claim> what;
    grant given;
    instant since;
    duration handed_over{}; // if it was pushed: since the engine decided
    std::uint32_t passes = 0;
    bool wanted = false;         // somebody else asks for it
    bool left_to_expire = false; // a user of it was lost, and a lock delay counts
    boost::container::small_vector<std::shared_ptr<hold>, 1> users; // or the readers who joined
    std::list<engine_grant>::iterator self;
};

class turnstile {
public:
    turnstile(std::shared_ptr<const std::string> n, const shape& s) : name{std::move(n)}, like{s} {}

    const std::shared_ptr<const std::string> name;
    const shape like;

    boost::intrusive::list<wish> wishes;
    std::list<talk> talks;
    std::list<engine_grant> grants;

    [[nodiscard]] bool idle() const noexcept {
        return wishes.empty() && talks.empty() && grants.empty();
    }
    [[nodiscard]] bool fair() const noexcept { return like.order == queueing::fair; }
    [[nodiscard]] bool spins() const noexcept { return like.waiting.spins; }

    /// How many talks this queue should have going now.
    [[nodiscard]] std::size_t talks_wanted() const noexcept;

    /// The talks that still want the lock.
    [[nodiscard]] std::size_t talks_going() const noexcept;

    /// A shared grant that another reader of ours may join; null if there is none.
    [[nodiscard]] engine_grant* open_for_readers(instant now) noexcept;

    /// Whether a grant whose last user has left may go to the next wish here.
    [[nodiscard]] bool may_pass(const engine_grant&, instant now) const noexcept;

    /// The number for the next user of a grant: larger with each pass where the engine reserved
    /// some.
    [[nodiscard]] static fence next_fence(const engine_grant&) noexcept;
};

} // namespace holdfast::detail
