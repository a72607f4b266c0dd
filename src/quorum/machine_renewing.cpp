// Renewing: one flight to each member for all that is kept there, judged as soon as it can be; and
// what is lost with a bond.

#include "quorum/machine.hpp"
#include "quorum/machine_parts.hpp"
#include "runtime/assert.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::quorum {

using detail::later;

void machine::renew(const call& c, std::span<const bond_id> bonds, instant now, actions& out) {
    const auto number = ++flights_made_;
    auto& f = flights_.try_emplace(number, number, c).first->second;
    std::vector<std::set<bond_id>> wanted(rules_.members);
    auto shortest = forever;
    for (const auto bond : bonds) {
        const auto found = bonds_.find(bond);
        if (found == bonds_.end()) {
            f.bonds.emplace_back(bond, nonce{});
            continue;
        }
        auto& d = *find(found->second);
        f.bonds.emplace_back(bond, d.what->nonce);
        shortest = std::min(shortest, d.what->ttl);
        d.last_sent = now;
        for (member m = 0; m < rules_.members; ++m)
            if (d.seats[m].what == stake::grant)
                wanted[m].insert(d.seats[m].given.terms.bond);
    }
    for (member m = 0; m < rules_.members; ++m) {
        if (wanted[m].empty())
            continue;
        ++f.on_their_way;
        out.emplace_back(ask_renew{m,
                                   member_call({verb::renew, m, {}, number}, c, shortest, now),
                                   {wanted[m].begin(), wanted[m].end()}});
    }
    agenda_.put(f, end_of(verb::renew, c, shortest, now));
    for (const auto& [bond, whose] : f.bonds)
        if (auto* const d = find(whose))
            mend(*d, now, out);
    judge(f, false, now, out);
}

// Members that are not keepers are asked anew, beside the renewal. What comes of it counts from the
// next one on.
void machine::mend(deal& d, instant now, actions& out) {
    for (auto& s : d.seats) {
        s.raise_tried = false;
        if (s.what != stake::grant && s.busy == verb::none)
            s.to_ask = true;
    }
    settle(d, now, out);
}

void machine::renewed(ticket number,
                      std::span<const renewal_answer> answers,
                      instant now,
                      actions& out) {
    const auto asked = take_question(number);
    if (!asked)
        return;
    for (const auto& one : answers) {
        const auto b = kept_[asked->of].find(one.bond);
        if (b == kept_[asked->of].end())
            continue;
        if (one.outcome == holdfast::renewed::yes) {
            b->second.terms = one.terms;
            b->second.renewed_in = std::max(b->second.renewed_in, asked->flight);
        } else if (one.outcome == holdfast::renewed::lost) {
            lose_all_on(asked->of, one.bond, out);
        }
    }
    const auto found = flights_.find(asked->flight);
    if (found == flights_.end())
        return;
    --found->second.on_their_way;
    judge(found->second, false, now, out);
}

void machine::judge(flight& f, bool time_is_up, instant now, actions& out) {
    std::vector<renewal_answer> answers;
    for (const auto& [bond, whose] : f.bonds) {
        auto& answer = answers.emplace_back(renewal_answer{bond, holdfast::renewed::lost, {}});
        const auto* const d = find(whose);
        if (d == nullptr || !d->held || d->bond != bond)
            continue; // given up meanwhile
        std::size_t kept = 0;
        for (member m = 0; m < rules_.members; ++m)
            if (const auto& s = d->seats[m]; is_keeper(*d, s))
                kept += kept_[m].at(s.given.terms.bond).renewed_in >= f.number;
        if (kept >= rules_.needed) {
            answer.outcome = holdfast::renewed::yes;
            answer.terms = terms_of(*d, now);
        } else if (may_have(*d)) {
            if (!time_is_up && f.on_their_way > 0)
                return; // more may come
            answer.outcome = holdfast::renewed::unknown;
        }
    }
    out.emplace_back(say_renewed{f.asked.ticket, std::move(answers)});
    agenda_.remove(f);
    flights_.erase(std::uint64_t{f.number});
}

void machine::lose_all_on(member m, bond_id bond, actions& out) {
    const auto found = kept_[m].find(bond);
    if (found == kept_[m].end())
        return;
    const auto carried = found->second.carries;
    for (const auto& whose : carried) {
        auto& d = *find(whose);
        lose(d, m);
        if (d.held && !may_have(d))
            out.emplace_back(say_lost{d.bond});
    }
}

} // namespace holdfast::quorum
