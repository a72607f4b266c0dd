// Taking back and giving back: every member is asked until it is certain, or what it gave has ended
// by itself.

#include "lease/defect.hpp"
#include "quorum/machine.hpp"
#include "quorum/machine_parts.hpp"
#include "runtime/assert.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::quorum {

using detail::defect;
using detail::has;
using detail::later;

void machine::withdraw(const call& c,
                       const std::shared_ptr<const claim>& what,
                       instant now,
                       actions& out) {
    const auto asker = askings_.find(what->nonce);
    auto* const d = deal_of(what->nonce);
    if (d == nullptr) { // never asked for, gone, or being taken back already
        const bool gone = asker == askings_.end() || asker->second.leaving.empty();
        out.emplace_back(say_withdrawn{c.ticket, gone ? applied::no : applied::maybe});
        if (asker != askings_.end())
            asker->second.waits = false;
        if (gone && asker != askings_.end())
            askings_.erase(asker);
        return;
    }
    HOLDFAST_ASSERT(!d->asked && !d->withdrawing, "one request at a time");
    d->withdrawing = c;
    leave(*d, c, now, out);
}

void machine::release(const call& c,
                      const std::shared_ptr<const claim>& what,
                      instant now,
                      actions& out) {
    auto* const d = deal_of(what->nonce);
    if (d == nullptr) {
        out.emplace_back(say_released{c.ticket, release_result::lost});
        return;
    }
    if (has(defect::quorum_releases_grants))
        for (auto& s : d->seats)
            if (s.what == stake::maybe)
                s.what = stake::nothing;
    d->releasing = c;
    leave(*d, c, now, out);
}

void machine::leave(deal& d, const call& c, instant now, actions& out) {
    d.held = d.wanted = d.silent = false;
    d.final = true;
    askings_[d.asker].waits = false;
    bonds_.erase(std::exchange(d.bond, bond_id{}));
    for (auto& s : d.seats) {
        s.to_ask = false;
        s.again_at = {};
    }
    d.limit = end_of(verb::withdraw, c, d.what->ttl, now);
    settle(d, now, out);
}

bool machine::is_clean(const deal& d, const seat& s) const noexcept {
    return s.what == stake::nothing && !(d.final && s.listens);
}

bool machine::all_clean(const deal& d) const noexcept {
    return std::all_of(d.seats.begin(), d.seats.end(), [&](const seat& s) {
        return s.busy == verb::none && is_clean(d, s);
    });
}

void machine::judge_leaving(deal& d, actions& out) {
    const bool answered_all =
        d.silent || std::none_of(d.seats.begin(), d.seats.end(), [](const seat& s) {
            return s.busy != verb::none;
        });
    if (d.withdrawing && (all_clean(d) || answered_all)) {
        const bool gone = all_clean(d) && askings_[d.asker].leaving.empty();
        out.emplace_back(say_withdrawn{std::exchange(d.withdrawing, std::nullopt)->ticket,
                                       gone ? applied::no : applied::maybe});
    }
    if (!d.releasing)
        return;
    const auto given_back =
        count(d.seats, [](const seat& s) { return s.gave_back == release_result::released; });
    const auto open = count(d.seats, [](const seat& s) { return s.what != stake::nothing; });
    const auto say = [&](release_result r) {
        out.emplace_back(say_released{std::exchange(d.releasing, std::nullopt)->ticket, r});
    };
    if (given_back >= rules_.needed)
        say(release_result::released); // certain; what is left is taken back as well, by ourselves
    else if (given_back + open < rules_.needed)
        say(release_result::lost);
    else if (answered_all)
        say(release_result::unknown);
}

void machine::withdrawn(ticket number, applied certainty, instant now, actions& out) {
    question asked;
    auto* const d = answered(number, asked);
    if (d == nullptr)
        return;
    auto& s = d->seats[asked.of];
    if (certainty == applied::no) {
        lose(*d, asked.of);
        s.listens = false;
    } else {
        s.again_at = later(now, d->pause.next(chance_));
    }
    settle(*d, now, out);
}

void machine::released(ticket number, release_result how, instant now, actions& out) {
    question asked;
    auto* const d = answered(number, asked);
    if (d == nullptr)
        return;
    auto& s = d->seats[asked.of];
    if (how == release_result::unknown) {
        s.again_at = later(now, d->pause.next(chance_));
    } else {
        s.gave_back = how;
        lose(*d, asked.of);
    }
    settle(*d, now, out);
}

// A lock delay begins when a lease was lost, and a release would cut it short.
void machine::forget(bond_id bond, instant now, actions& out) {
    const auto found = bonds_.find(bond);
    if (found == bonds_.end())
        return;
    auto& d = *find(found->second);
    if (d.what->lock_delay > duration::zero()) {
        for (member m = 0; m < rules_.members; ++m)
            if (d.seats[m].what == stake::grant)
                out.emplace_back(ask_forget{m, d.seats[m].given.terms.bond});
        end(d);
        return;
    }
    leave(d, by_ourselves(*d.what, now), now, out);
}

instant machine::gone_at(const deal& d) const noexcept {
    if (rules_.ttl != ttl_scope::grant)
        return never; // kept alive by others: taken back until certain
    return detail::gone_by_itself(d.last_sent, d.what->ttl, d.what->lock_delay);
}

// A request may have been late: it is asked for once, on the same way behind it, even if its time
// is over.
bool machine::must_be_asked_back(const seat& s) noexcept {
    return s.what == stake::maybe && !s.asked_back;
}

void machine::let_expire(deal& d, instant now) {
    if (d.wanted || now < gone_at(d))
        return;
    for (member m = 0; m < rules_.members; ++m) {
        auto& s = d.seats[m];
        if (must_be_asked_back(s))
            continue;
        lose(d, m);
        s.listens = s.listens && !d.final; // it has long been tried to end that
    }
}

} // namespace holdfast::quorum
