#include "quorum/machine.hpp"
#include "lease/defect.hpp"
#include "quorum/machine_parts.hpp"
#include "runtime/assert.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::quorum {
namespace {

using detail::defect;
using detail::has;
using detail::later;
using namespace std::chrono_literals;

[[nodiscard]] bool is_final(const failure& f) {
    return f.applied == applied::no && f.code != condition::try_again;
}

} // namespace

machine::machine(const rules& r, detail::random_source& chance)
    : rules_{r}, chance_{chance}, kept_(r.members) {
    HOLDFAST_ASSERT(2 * r.needed > r.members && r.needed <= r.members,
                    "two quorums share a member");
}

machine::~machine() { agenda_.clear(); }

// -------------------------------------------------------------------------------------- asking

void machine::attempt(const call& c,
                      const std::shared_ptr<const claim>& what,
                      joining join,
                      instant now,
                      actions& out) {
    auto& asker = askings_[what->nonce];
    asker.waits = join == joining::queue;
    auto& d = deal_for(what, asker);
    HOLDFAST_ASSERT(!d.asked, "one attempt at a time");
    d.asked = c;
    d.join = rules_.hints ? join : joining::none;
    d.wanted = true;
    d.final = d.silent = false;
    d.wake_at = never;
    d.holder.reset();
    for (auto& s : d.seats) {
        s.to_ask = true;
        s.raise_tried = s.refused = false;
        s.failed.reset();
    }
    d.limit = end_of(verb::attempt, c, what->ttl, now);
    settle(d, now, out);
}

machine::deal& machine::deal_for(const std::shared_ptr<const claim>& what, asking& asker) {
    if (asker.now)
        return *find(*asker.now);
    auto at_members = std::make_shared<claim>(*what);
    at_members->nonce = has(defect::quorum_one_nonce) ? what->nonce : detail::draw_nonce(chance_);
    asker.now = at_members->nonce;
    return deals_.try_emplace(*asker.now, what->nonce, at_members, rules_.members).first->second;
}

bool machine::is_keeper(const deal& d, const seat& s) const noexcept {
    return s.what == stake::grant && (!rules_.fences || (d.fence && s.given.fence >= d.fence) ||
                                      has(defect::quorum_one_round));
}

bool machine::may_become_keeper(const deal& d, const seat& s) const noexcept {
    if (d.silent || is_keeper(d, s))
        return false;
    return s.to_ask || s.busy == verb::attempt || s.busy == verb::raise ||
           (s.what == stake::grant && !s.raise_tried);
}

bool machine::may_have(const deal& d) const noexcept {
    return count(d.seats, [](const seat& s) { return s.what != stake::nothing; }) >= rules_.needed;
}

bool machine::has_something(const deal& d) noexcept {
    return count(d.seats, [](const seat& s) { return s.what != stake::nothing; }) > 0;
}

/// Whether those who have not answered yet decide what to say: that it is contended, or that too
/// few are there.
bool machine::may_be_contended(const deal& d) const noexcept {
    const auto heard = count(d.seats, [](const seat& s) { return was_heard(s); });
    const auto missing = count(d.seats, [](const seat& s) {
        return !was_heard(s) && (s.to_ask || s.busy == verb::attempt);
    });
    return !d.silent && heard > 0 && heard < rules_.needed && heard + missing >= rules_.needed;
}

// The machine decides as soon as it can: q keepers, or q keepers not possible any more.
void machine::judge(deal& d, instant now, actions& out) {
    if (!d.asked)
        return;
    const auto needed = rules_.needed - (has(defect::quorum_less_one) ? 1 : 0);
    const auto granted = count(d.seats, [](const seat& s) {
        return s.what == stake::grant ||
               (s.what == stake::maybe && has(defect::quorum_counts_unknown));
    });
    if (rules_.fences && !d.fence && granted >= needed) {
        for (const auto& s : d.seats)
            if (s.what == stake::grant)
                d.fence = std::max(d.fence, s.given.fence);
        d.limit = end_of(verb::raise, *d.asked, d.what->ttl, now);
        d.silent = false;
    }
    auto keepers = count(d.seats, [&](const seat& s) { return is_keeper(d, s); });
    if (has(defect::quorum_counts_unknown) && keepers > 0)
        keepers = granted;
    const auto coming = count(d.seats, [&](const seat& s) { return may_become_keeper(d, s); });
    if (keepers >= needed && (d.fence || !rules_.fences))
        grant_it(d, now, out);
    else if (keepers + coming < needed && !may_be_contended(d))
        fail(d, now, out);
}

void machine::grant_it(deal& d, instant now, actions& out) {
    if (d.bond == bond_id{}) {
        d.bond = bond_id{++bonds_made_};
        bonds_.emplace(d.bond, d.what->nonce);
    }
    d.held = true;
    askings_[d.asker].refusals = 0;
    d.limit = never;
    const auto to = std::exchange(d.asked, std::nullopt)->ticket;
    out.emplace_back(say_attempted{to, grant{d.asker, d.fence, 0, terms_of(d, now), {}}});
}

// What we may believe ends with the q-th best of our keepers.
bond_terms machine::terms_of(const deal& d, instant now) const {
    std::vector<bond_terms> all;
    for (member m = 0; m < rules_.members; ++m)
        if (const auto& s = d.seats[m]; is_keeper(d, s))
            all.push_back(kept_[m].at(s.given.terms.bond).terms);
    HOLDFAST_ASSERT(!all.empty(), "what is granted has keepers");
    std::sort(all.begin(), all.end(), [](const bond_terms& a, const bond_terms& b) {
        return detail::deadline_of(a) > detail::deadline_of(b);
    });
    auto terms = all[std::min(rules_.needed, all.size()) - 1];
    terms.bond = d.bond;
    if (has(defect::quorum_deadline_of_reply))
        terms.anchor = now;
    return terms;
}

// Taken back first, then told: whoever hears it may ask again at once, and must not find itself in
// the way.
void machine::fail(deal& d, instant now, actions& out) {
    auto answer = answer_for(d, now);
    const auto to = std::exchange(d.asked, std::nullopt)->ticket;
    d.limit = never;
    if (d.held && may_have(d)) { // asked again for what we have: it stays, as far as we know
        answer = failure{errc::backend_unavailable, applied::maybe, "too few members answered"};
    } else {
        d.held = d.wanted = false;
        d.fence = {};
        bonds_.erase(std::exchange(d.bond, bond_id{}));
        if (!askings_[d.asker].waits || has_something(d))
            part_from(d);
        pursue(d, now, out);
    }
    out.emplace_back(say_attempted{to, std::move(answer)});
}

attempt_answer machine::answer_for(deal& d, instant now) {
    std::size_t heard = 0;
    std::size_t final_failures = 0;
    std::size_t may_have_it = 0;
    failure last{errc::backend_unavailable, applied::no, {}};
    for (const auto& s : d.seats) {
        heard += was_heard(s) ? 1U : 0U;
        may_have_it += s.what != stake::nothing || s.busy != verb::none;
        if (s.failed && is_final(*s.failed) && ++final_failures > rules_.members - rules_.needed)
            return *s.failed; // they know why; what others granted is being taken back
        if (s.failed)
            last = *s.failed;
    }
    if (heard >= rules_.needed)
        return contended{pause_for(d, now), d.holder, 0, {}};
    // Fewer than a quorum hold nothing, and we take it back from them ourselves.
    return failure{errc::backend_unavailable,
                   may_have_it >= rules_.needed ? applied::maybe : applied::no,
                   std::to_string(heard) + " of " + std::to_string(rules_.members) +
                       " members answered, " + std::to_string(rules_.needed) + " are needed" +
                       (last.detail.empty() ? "" : ": " + last.detail)};
}

// Longer than one round and left to chance, so that those who split the members among themselves
// do not do so again; longer with each refusal, because then it is rather held than split.
duration machine::pause_for(deal& d, instant now) {
    auto& refusals = askings_[d.asker].refusals;
    const duration most = rules_.hints ? 1s : 100ms; // hints come before; without them we look
    const auto round = std::max<duration>(now - d.asked->asked, 1ms);
    const auto span = std::max(round * 2, std::min(round * (2 << std::min(refusals, 6U)), most));
    ++refusals;
    const auto extra = chance_.next() % static_cast<std::uint64_t>(span.count());
    return span / 2 + duration{static_cast<duration::rep>(extra)};
}

void machine::attempted(ticket number, const attempt_answer& answer, instant now, actions& out) {
    question asked;
    auto* const d = answered(number, asked);
    if (d == nullptr)
        return;
    auto& s = d->seats[asked.of];
    if (const auto* yes = std::get_if<grant>(&answer)) {
        take(*d, asked.of, *yes);
        s.free = true;
        s.listens = false;
    } else if (const auto* no = std::get_if<contended>(&answer)) {
        lose(*d, asked.of);
        s.refused = true;
        s.free = false;
        s.listens = s.listens || d->join == joining::queue;
        if (no->holder)
            d->holder = no->holder;
    } else {
        const auto& f = std::get<failure>(answer);
        s.failed = f;
        if (f.applied == applied::maybe && s.what == stake::nothing)
            s.what = stake::maybe;
    }
    settle(*d, now, out);
}

void machine::raised(ticket number, holdfast::raised how, instant now, actions& out) {
    question asked;
    auto* const d = answered(number, asked);
    if (d == nullptr)
        return;
    auto& s = d->seats[asked.of];
    if (how == holdfast::raised::yes && s.what == stake::grant)
        s.given.fence = std::max(s.given.fence, s.raising);
    if (how == holdfast::raised::lost) {
        lose(*d, asked.of);
        s.refused = true;
    }
    settle(*d, now, out);
}

// -------------------------------------------------------------------------------------- seats

// After whatever happened to a deal. The last thing done to it: it may be gone after.
void machine::settle(deal& d, instant now, actions& out) {
    judge(d, now, out);
    let_expire(d, now);
    if (!d.wanted && !d.final && has_something(d))
        part_from(d); // a late yes after we were told no: only who has nothing may go on listening
    pursue(d, now, out);
    judge_leaving(d, out);
    const bool over = !d.wanted && d.final && !d.withdrawing && !d.releasing && all_clean(d);
    if (over)
        end(d);
    else
        schedule(d, now);
}

void machine::pursue(deal& d, instant now, actions& out) {
    for (member m = 0; m < rules_.members; ++m)
        pursue(d, m, now, out);
}

// What this seat needs next, if nothing is on its way.
void machine::pursue(deal& d, member m, instant now, actions& out) {
    auto& s = d.seats[m];
    if (s.busy != verb::none)
        return;
    const auto ask = [&](verb what) {
        s.busy = what;
        const auto c = d.asked         ? *d.asked
                       : d.withdrawing ? *d.withdrawing
                       : d.releasing   ? *d.releasing
                                       : by_ourselves(*d.what, now);
        return member_call({what, m, d.what->nonce, 0}, c, d.what->ttl, now);
    };
    if (d.wanted) {
        if (std::exchange(s.to_ask, false)) {
            d.last_sent = now;
            s.asked_back = false;
            s.again_at = {};
            const auto join = d.held ? joining::none : d.join;
            out.emplace_back(ask_attempt{m, ask(verb::attempt), d.what, join});
        } else if (s.what == stake::grant && d.fence && s.given.fence < d.fence && !s.raise_tried &&
                   !has(defect::quorum_one_round)) {
            s.raise_tried = true;
            s.raising = d.fence;
            out.emplace_back(ask_raise{m, ask(verb::raise), d.what, d.fence});
        }
        return;
    }
    s.to_ask = false;
    if (is_clean(d, s) || now < s.again_at)
        return;
    s.asked_back = true;
    if (d.releasing && s.what == stake::grant)
        out.emplace_back(ask_release{m, ask(verb::release), d.what, s.given});
    else
        out.emplace_back(ask_withdraw{m, ask(verb::withdraw), d.what});
}

void machine::take(deal& d, member m, const grant& given) {
    auto& s = d.seats[m];
    if (s.what == stake::grant && s.given.terms.bond != given.terms.bond)
        lose(d, m);
    const auto fence = s.what == stake::grant ? std::max(s.given.fence, given.fence) : given.fence;
    s.what = stake::grant;
    s.given = given;
    s.given.fence = fence;
    auto& b = kept_[m][given.terms.bond];
    if (b.carries.empty() || detail::deadline_of(given.terms) > detail::deadline_of(b.terms))
        b.terms = given.terms;
    b.carries.insert(d.what->nonce);
}

void machine::lose(deal& d, member m) {
    auto& s = d.seats[m];
    if (std::exchange(s.what, stake::nothing) != stake::grant)
        return;
    const auto found = kept_[m].find(s.given.terms.bond);
    if (found == kept_[m].end())
        return;
    found->second.carries.erase(d.what->nonce);
    if (found->second.carries.empty())
        kept_[m].erase(found);
}

void machine::end(deal& d) {
    for (member m = 0; m < rules_.members; ++m)
        lose(d, m);
    bonds_.erase(d.bond);
    agenda_.remove(d);
    auto& asker = askings_[d.asker];
    asker.leaving.erase(d.what->nonce);
    if (asker.now == d.what->nonce)
        asker.now.reset();
    if (!asker.now && asker.leaving.empty() && !asker.waits)
        askings_.erase(nonce{d.asker});
    deals_.erase(nonce{d.what->nonce});
}

// ------------------------------------------------------------------------- what they say unasked

// A hint for q members together: one that is freed first is not yet a lock. And not at once: those
// who all hear the same would come all together, and split the members again.
void machine::woken(member m, const nonce& whose, instant now) {
    auto* const d = find(whose);
    if (d == nullptr || d->final || d->held)
        return;
    d->seats[m].free = true;
    if (count(d->seats, [](const seat& s) { return s.free; }) < rules_.needed ||
        d->wake_at != never || d->asked)
        return;
    d->wake_at = later(now, duration{static_cast<duration::rep>(chance_.next() % 2'000'000)});
    schedule(*d, now);
}

void machine::bond_lost(member m, bond_id bond, actions& out) { lose_all_on(m, bond, out); }

void machine::grant_lost(member m, const nonce& whose, instant now, actions& out) {
    auto* const d = find(whose);
    if (d == nullptr)
        return;
    const bool had = d->seats[m].what == stake::grant;
    lose(*d, m);
    if (had && d->held && !may_have(*d))
        out.emplace_back(say_lost{d->bond});
    settle(*d, now, out);
}

// --------------------------------------------------------------------------------- time, and names

void machine::on_time(instant now, actions& out) {
    while (auto* const item = agenda_.take_due(now)) {
        if (item->what == detail::agenda_item::kind::bond) {
            judge(static_cast<flight&>(*item), true, now, out);
            continue;
        }
        auto& d = static_cast<deal&>(*item);
        if (now >= d.limit) {
            d.limit = never;
            d.silent = true;
        }
        if (now >= d.wake_at) {
            d.wake_at = never;
            out.emplace_back(say_woken{d.asker});
        }
        settle(d, now, out);
    }
}

void machine::schedule(deal& d, instant now) {
    auto due = std::min(d.limit, d.wake_at);
    if (!d.wanted)
        for (const auto& s : d.seats)
            if (s.busy == verb::none && !is_clean(d, s))
                due = std::min({due,
                                std::max(s.again_at, later(now, 1ms)),
                                must_be_asked_back(s) ? never : gone_at(d)});
    agenda_.put(d, due);
}

// How long one round may take. To acquire, a twentieth of the ttl: one that hangs must not keep us
// from deciding, and a quarter of a second covers one packet sent twice. An embedded file either
// answers soon or is in trouble.
instant machine::end_of(verb what, const call& c, duration ttl, instant now) const noexcept {
    const auto whole = std::max(c.answer_by - now, duration::zero());
    if (what != verb::attempt && what != verb::raise)
        return later(now, whole * 4 / 5);
    if (!rules_.one_by_one)
        return later(now, std::min(std::clamp<duration>(ttl / 20, 10ms, 250ms), whole * 2 / 5));
    const auto each = std::clamp<duration>(ttl / 20, 10ms, 50ms);
    const auto all = each * static_cast<duration::rep>(rules_.members);
    return later(now, std::min(all, whole * 3 / 5));
}

// Asked one after the other, each may take half of what those before it have left.
instant machine::answer_by(const question& about, const call& c, duration ttl, instant now) const {
    const auto end = end_of(about.what, c, ttl, now);
    return rules_.one_by_one ? end - (end - now) / (2 << about.of) : end;
}

call machine::member_call(const question& about, const call& c, duration ttl, instant now) {
    const ticket number{++tickets_};
    questions_.emplace(number, about);
    return {number, c.asked, answer_by(about, c, ttl, now)};
}

std::optional<machine::question> machine::take_question(ticket number) {
    const auto found = questions_.find(number);
    if (found == questions_.end())
        return std::nullopt;
    const auto about = found->second;
    questions_.erase(found);
    return about;
}

machine::deal* machine::answered(ticket number, question& about) {
    const auto asked = take_question(number);
    if (!asked)
        return nullptr;
    about = *asked;
    auto* const d = find(about.about);
    if (d != nullptr)
        d->seats[about.of].busy = verb::none;
    return d;
}

machine::deal* machine::deal_of(const nonce& asker) noexcept {
    const auto found = askings_.find(asker);
    return found == askings_.end() || !found->second.now ? nullptr : find(*found->second.now);
}

// It goes on by itself until nothing is left of it; who asks again gets another.
void machine::part_from(deal& d) {
    auto& asker = askings_[d.asker];
    asker.now.reset();
    asker.leaving.insert(d.what->nonce);
    d.final = true;
}

void machine::wanted(const nonce& whose, actions& out) {
    if (const auto* const d = find(whose); d != nullptr && d->held)
        out.emplace_back(say_wanted{d->asker});
}

machine::deal* machine::find(const nonce& whose) noexcept {
    const auto found = deals_.find(whose);
    return found == deals_.end() ? nullptr : &found->second;
}

} // namespace holdfast::quorum
