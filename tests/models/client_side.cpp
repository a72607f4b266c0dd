#include "models/client_side.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::models {

void client_side::attempt(const call& c, const std::shared_ptr<const claim>& what, joining join) {
    request r;
    r.what = request::verb::attempt;
    r.about = what;
    r.join = join;
    ask(c, std::move(r));
}

void client_side::withdraw(const call& c, const std::shared_ptr<const claim>& what) {
    request r;
    r.what = request::verb::withdraw;
    r.about = what;
    ask(c, std::move(r));
}

void client_side::release(const call& c, const std::shared_ptr<const claim>& what, const grant&) {
    request r;
    r.what = request::verb::release;
    r.about = what;
    ask(c, std::move(r));
}

void client_side::renew(const call& c, std::span<const bond_id> bonds) {
    request r;
    r.what = request::verb::renew;
    for (const auto bond : bonds)
        r.all.push_back(claim_on(bond));
    ask(c, std::move(r), {bonds.begin(), bonds.end()});
}

void client_side::raise_fence(const call& c, const std::shared_ptr<const claim>& what, fence f) {
    request r;
    r.what = request::verb::raise;
    r.about = what;
    r.least = f;
    ask(c, std::move(r));
}

void client_side::inspect(const call& c, const std::string&) {
    events_->inspected(c.ticket, failure{errc::unsupported, applied::no, {}});
}

void client_side::examine(const call& c) { events_->examined(c.ticket, {}); }

void client_side::force_release(const call& c, const std::string&) {
    events_->forced(c.ticket, failure{errc::unsupported, applied::no, {}});
}

void client_side::ask(const call& c, request r, std::vector<bond_id> bonds) {
    r.from = me_;
    r.number = c.ticket;
    stamp(r);
    asked a{c, r, std::move(bonds)};
    if (around_.refuses(r)) { // nothing was sent: say so at once, from inside the verb
        around_.saw(sighting::engine_refused_at_once);
        return tell_unknown(a, applied::no, "connection refused");
    }
    open_.push_back(std::move(a));
    around_.call_at(c.answer_by, [this, number = c.ticket] { silence(number); });
    around_.send(std::move(r));
}

void client_side::silence(ticket number) {
    const auto found = std::find_if(
        open_.begin(), open_.end(), [&](const asked& a) { return a.when.ticket == number; });
    if (found == open_.end())
        return;
    const asked a = std::move(*found);
    open_.erase(found);
    left_unanswered(a);
    tell_unknown(a, applied::maybe, "no answer");
}

void client_side::tell_unknown(const asked& a, applied certainty, const char* sentence) {
    switch (a.what.what) {
    case request::verb::attempt:
        return events_->attempted(a.when.ticket,
                                  failure{errc::backend_unavailable, certainty, sentence});
    case request::verb::withdraw:
        return events_->withdrawn(a.when.ticket, applied::maybe);
    case request::verb::release:
        return events_->released(a.when.ticket, release_result::unknown);
    case request::verb::renew:
        return tell_renewed(a, {.what = reply::kind::failed});
    case request::verb::raise:
        return events_->fence_raised(a.when.ticket, raised::unknown);
    case request::verb::close_session:
    case request::verb::spoken:
        return;
    }
}

void client_side::receive(const reply& r) {
    const auto found = std::find_if(
        open_.begin(), open_.end(), [&](const asked& a) { return a.when.ticket == r.number; });
    if (found == open_.end()) // too late, or for the second time
        return;
    const asked a = std::move(*found);
    open_.erase(found);
    answered(a, r);
    switch (r.what) {
    case reply::kind::granted:
        return events_->attempted(r.number,
                                  grant{a.what.about->nonce,
                                        r.fence,
                                        r.reserved,
                                        terms(bond_for(a), a.when.asked, a.what.about.get())});
    case reply::kind::contended: {
        contended no{
            .retry_after = r.retry_after, .holder = {}, .place = r.place, .keeps_place = {}};
        if (a.what.join == joining::queue && places_are_leases())
            no.keeps_place = terms(bond_for(a), a.when.asked, a.what.about.get());
        return events_->attempted(r.number, std::move(no));
    }
    case reply::kind::failed:
        return tell_unknown(a, r.certainty, "the engine failed");
    case reply::kind::expired:
        return tell_unknown(a, applied::no, "the session has expired");
    case reply::kind::withdrawn:
        return events_->withdrawn(r.number, applied::no);
    case reply::kind::released:
        return events_->released(r.number, release_result::released);
    case reply::kind::lost:
        return events_->released(r.number, release_result::lost);
    case reply::kind::renewed:
        return tell_renewed(a, r);
    case reply::kind::raised:
        return events_->fence_raised(r.number, raised::yes);
    case reply::kind::not_raised:
        return events_->fence_raised(r.number, raised::lost);
    case reply::kind::spoken:
        return;
    }
}

void client_side::tell_renewed(const asked& a, const reply& r) {
    std::vector<renewal_answer> answers;
    for (std::size_t i = 0; i < a.bonds.size(); ++i) {
        renewal_answer one{.bond = a.bonds[i], .outcome = renewed::unknown, .terms = {}};
        if (r.what == reply::kind::renewed) {
            one.outcome = r.still_held[i] ? renewed::yes : renewed::lost;
            one.terms = terms(one.bond, a.when.asked, a.what.all[i].get());
        }
        answers.push_back(one);
    }
    events_->renewed(a.when.ticket, answers);
}

void client_side::receive(const push& p) {
    switch (p.what) {
    case push::kind::woken:
        return events_->woken(p.whose);
    case push::kind::wanted:
        return events_->wanted(p.whose);
    case push::kind::taken:
        return events_->grant_lost(p.whose);
    case push::kind::granted:
    case push::kind::session_gone:
    case push::kind::broken:
        return;
    }
}

// ------------------------------------------------------------------------- one bond for each grant

void client_of_leases::withdraw(const call& c, const std::shared_ptr<const claim>& what) {
    drop(what->nonce);
    client_side::withdraw(c, what);
}

void client_of_leases::release(const call& c,
                               const std::shared_ptr<const claim>& what,
                               const grant& given) {
    drop(what->nonce);
    client_side::release(c, what, given);
}

void client_of_leases::forget(bond_id bond) {
    std::erase_if(bonds_, [&](const kept& k) { return k.bond == bond; });
}

void client_of_leases::drop(const nonce& whose) {
    std::erase_if(bonds_, [&](const kept& k) { return k.by->nonce == whose; });
}

bond_id client_of_leases::bond_for(const asked& a) {
    const auto& what = a.what.about;
    auto found = std::find_if(
        bonds_.begin(), bonds_.end(), [&](const kept& k) { return k.by->nonce == what->nonce; });
    if (found == bonds_.end()) {
        const auto number = (static_cast<std::uint64_t>(me_) << 32) | ++made_;
        found = bonds_.insert(bonds_.end(), kept{bond_id{number}, what});
    }
    return found->bond;
}

bond_terms client_of_leases::terms(bond_id bond, instant anchor, const claim* by) const {
    return {bond, anchor, by != nullptr ? by->ttl : duration::zero(), margin_};
}

std::shared_ptr<const claim> client_of_leases::claim_on(bond_id bond) {
    for (const auto& k : bonds_)
        if (k.bond == bond)
            return k.by;
    return nullptr;
}

} // namespace holdfast::models
