#include "simulation/ledger.hpp"
#include "simulation/trace.hpp"

#include <variant>

namespace holdfast::simulation {
namespace {

using models::sighting;

constexpr const char* i4 = "I4 nothing is asked for what has ended";
constexpr const char* i5 = "I5 nothing is left behind";

} // namespace

void ledger::decided(const detail::action& one) {
    if (const auto* a = std::get_if<detail::do_attempt>(&one))
        attempt(*a);
    else if (const auto* w = std::get_if<detail::do_withdraw>(&one))
        withdraw(*w);
    else if (const auto* r = std::get_if<detail::do_release>(&one))
        release(*r);
    else if (const auto* n = std::get_if<detail::do_renew>(&one))
        renew(*n);
    else if (const auto* f = std::get_if<detail::do_forget>(&one))
        forget(*f);
}

void ledger::attempt(const detail::do_attempt& a) {
    auto& it = acquisitions_[a.what->nonce];
    if (it.now != acquisition::state::asking)
        throw violation{i4, "attempt for ", short_name(a.what->nonce), ", which was left"};
    if (it.asked)
        throw violation{i4, "two attempts at once for ", short_name(a.what->nonce)};
    it.asked = true;
    open_[a.call.ticket] = a.what->nonce;
}

// Taking back is a compare and delete, allowed at any time; but what is on its way must be known
// first.
void ledger::withdraw(const detail::do_withdraw& w) {
    auto& it = acquisitions_[w.what->nonce];
    if (it.asked)
        throw violation{
            i4, "withdrawal of ", short_name(w.what->nonce), " before its attempt was answered"};
    it.now = acquisition::state::leaving;
    open_[w.call.ticket] = w.what->nonce;
}

void ledger::release(const detail::do_release& r) {
    auto& it = acquisitions_[r.what->nonce];
    if (std::exchange(it.release_sent, true))
        seen_(sighting::release_unknown_and_retried);
    it.now = acquisition::state::leaving;
    open_[r.call.ticket] = r.what->nonce;
}

void ledger::renew(const detail::do_renew& n) {
    for (const auto bond : n.bonds) {
        if (forgotten_.contains(bond))
            throw violation{i4, "renewal of a bond that was lost"};
        const auto found = bonds_.find(bond);
        if (scope_ == ttl_scope::grant && found != bonds_.end() &&
            acquisitions_[found->second].now >= acquisition::state::leaving)
            throw violation{i4, "renewal of ", short_name(found->second), ", which was left"};
    }
}

void ledger::forget(const detail::do_forget& f) {
    forgotten_.insert(f.bond);
    for (auto& [whose, it] : acquisitions_) {
        if (it.bond != f.bond)
            continue;
        if (it.now == acquisition::state::held)
            it.now = acquisition::state::over;
        else if (it.now == acquisition::state::asking)
            seen_(sighting::place_lost_while_waiting);
    }
}

void ledger::held(const nonce& whose, bond_id by) {
    auto& it = acquisitions_[whose];
    it.now = acquisition::state::held;
    it.bond = by;
}

void ledger::lost(const claim& what) {
    auto& it = acquisitions_[what.nonce];
    it.may_expire = it.may_expire || what.lock_delay > duration::zero();
}

ledger::acquisition* ledger::take(ticket number) {
    const auto found = open_.find(number);
    if (found == open_.end())
        return nullptr;
    auto& it = acquisitions_[found->second];
    open_.erase(found);
    return &it;
}

void ledger::attempted(ticket number, const attempt_answer& answer) {
    const auto found = open_.find(number);
    if (found == open_.end())
        throw violation{"seam", "an attempt was answered twice"};
    const nonce whose = found->second;
    auto& it = *take(number);
    it.asked = false;
    if (const auto* yes = std::get_if<grant>(&answer)) {
        if (it.unknown_before)
            seen_(sighting::unknown_acquire_was_ours);
        if (std::exchange(it.hint_lost, false))
            seen_(sighting::lost_hint_made_good_by_asking);
        it.maybe_there = true;
        it.unknown_before = false;
        it.bond = yes->terms.bond;
        bonds_[it.bond] = whose;
    } else if (const auto* no = std::get_if<contended>(&answer)) {
        if (std::exchange(it.unknown_before, false))
            seen_(sighting::unknown_acquire_was_not_ours);
        it.maybe_there = no->keeps_place.has_value();
        if (no->keeps_place) {
            it.bond = no->keeps_place->bond;
            bonds_[it.bond] = whose;
        }
    } else if (std::get<failure>(answer).applied == applied::maybe) {
        it.maybe_there = it.unknown_before = true;
    }
}

void ledger::withdrawn(ticket number, applied certainty) {
    auto* const it = take(number);
    if (it != nullptr && certainty == applied::no)
        it->now = acquisition::state::over;
}

void ledger::released(ticket number, release_result result) {
    auto* const it = take(number);
    if (it != nullptr && result != release_result::unknown)
        it->now = acquisition::state::over;
}

void ledger::pushed(const nonce& whose) {
    auto& it = acquisitions_[whose];
    if (it.asked)
        seen_(sighting::grant_pushed_while_asking);
    it.maybe_there = true;
}

void ledger::taken(const nonce& whose) {
    if (auto& it = acquisitions_[whose]; it.now == acquisition::state::held)
        it.now = acquisition::state::over;
}

void ledger::hint_lost(const nonce& whose) {
    if (const auto found = acquisitions_.find(whose); found != acquisitions_.end())
        found->second.hint_lost = true;
}

bool ledger::has_left(const nonce& whose) const {
    const auto found = acquisitions_.find(whose);
    return found != acquisitions_.end() && found->second.now >= acquisition::state::leaving;
}

void ledger::check_nothing_left_behind() const {
    for (const auto& [whose, it] : acquisitions_) {
        const bool settled = it.now == acquisition::state::over ||
                             (it.now == acquisition::state::asking && !it.maybe_there) ||
                             (it.now == acquisition::state::held && it.may_expire) ||
                             // given up after T + D, when a lease has ended by itself
                             (it.now == acquisition::state::leaving && scope_ == ttl_scope::grant);
        if (!settled)
            throw violation{i5, short_name(whose), " may still be there, and nobody cares"};
    }
}

} // namespace holdfast::simulation
