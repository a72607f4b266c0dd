#pragma once

// One acquire conversation with the engine: one claim, one nonce, one request at a time.
//
//               ┌── contended ──▶ WAITING ── woken, or time to ask again ──┐  (spinning: soon)
//               │                    │ granted (pushed)                    │
//   begin ─▶ ATTEMPTING ◀────────────┼─────────────────────────────────────┤
//               │  │ unknown, away ──┼──▶ PAUSING ── back-off over ────────┘  same nonce
//        granted│  │                 │
//               ▼  │ nobody wants it any more (time-out, cancel)
//            (grant)└──────────────▶ WITHDRAWING ── done, or T + D has passed ──▶ gone
//
// While a request is on its way nothing else is sent: what it did is known, or known to be unknown,
// before the next step. After giving up we are not the holder, whatever the engine believes.

#include "lease/keeper.hpp"
#include "lease/validity.hpp"
#include "runtime/random.hpp"
#include "waiting/wish.hpp"

#include <holdfast/backend.hpp>

#include <list>
#include <memory>

namespace holdfast::detail {

class turnstile;

/// Pauses that double from the first to the longest, each shortened by up to a half.
class back_off {
public:
    back_off(duration first, duration most) noexcept : first_{first}, most_{most}, gap_{first} {}

    [[nodiscard]] duration next(random_source& chance) {
        const auto pause = gap_;
        gap_ = gap_ < most_ / 2 ? gap_ * 2 : most_;
        const auto half = static_cast<std::uint64_t>(pause.count() / 2);
        return pause - duration{static_cast<duration::rep>(chance.next() % (half + 1))};
    }
    void reset() { gap_ = first_; }

private:
    duration first_, most_, gap_;
};

/// Between tries that failed.
[[nodiscard]] inline back_off after_failures() noexcept {
    return {std::chrono::milliseconds{10}, std::chrono::seconds{1}};
}

/// What a caller is told who can wait no longer.
[[nodiscard]] inline error_code reason_of(const failure& f) {
    return f.applied == applied::maybe ? make_error_code(errc::outcome_unknown) : f.code;
}

struct talk : agenda_item {
    enum class state : std::uint8_t { attempting, waiting, pausing, withdrawing };

    talk(turnstile& t, std::shared_ptr<const claim> c, const waiting& how)
        : agenda_item{kind::talk}, at{t}, what{std::move(c)}, spin{how.first, how.most} {}

    turnstile& at;
    std::shared_ptr<const claim> what;
    state now = state::pausing;
    bool on_its_way = false;     // a request of ours has not been answered
    bool unwanted = false;       // withdraw as soon as nothing is on its way
    bool served = false;         // its grant was pushed while a request was still on its way
    bool woken = false;          // a hint came while a request was on its way
    bool may_be_applied = false; // the engine may know of us: a place, or a grant unheard of
    instant last_attempt{};
    instant answer_by{};            // of that attempt
    joining joined = joining::none; // whether the last attempt asked for a place
    std::list<talk>::iterator self;
    wish* for_wish = nullptr; // fair order: whose place this is
    failure last_failure; // without a code: the last word was "contended", or there was none yet
    back_off pause = after_failures();
    back_off spin; // between tries that were refused, if it spins
    struct place : on_bond {
        place() : on_bond{on_bond::kind::place} {}
        talk* of = nullptr;
    } queued; // lives on a bond only if the engine said that the place must be renewed

    [[nodiscard]] bool leaving() const noexcept { return unwanted || now == state::withdrawing; }
};

} // namespace holdfast::detail
