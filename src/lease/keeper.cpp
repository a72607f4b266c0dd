#include "lease/keeper.hpp"
#include "runtime/assert.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::detail {
namespace {

constexpr std::size_t batch_limit = 1000; // bonds in one renewal
constexpr std::size_t lost_remembered = 4096;

// A renewal is asked for when a third of the time has gone: half of it left is already late.
[[nodiscard]] tell_observer
report(bool confirmed, bool was_in_doubt, duration left, duration span) {
    if (!confirmed)
        return {.what = event::kind::in_doubt, .took = left};
    const bool late = was_in_doubt || left < span / 2;
    return {.what = late ? event::kind::renewed_late : event::kind::renewed,
            .detail = was_in_doubt ? "after one that was not answered" : "",
            .took = left};
}

} // namespace

bool keeper::may_be_believed(const bond_terms& terms, instant now) noexcept {
    if (lost_.contains(terms.bond))
        return false;
    const bond* const known = find(terms.bond);
    return deadline_of(terms) > now || (known != nullptr && known->deadline() > now);
}

bond* keeper::adopt(const bond_terms& terms, renewal how, on_bond& what, instant now) {
    if (what.by != nullptr && what.by->terms.bond != terms.bond)
        leave(what);
    if (!may_be_believed(terms, now))
        return nullptr; // if known and overdue: its own time will come and end it
    auto& slot = bonds_[terms.bond];
    if (!slot)
        slot = std::make_unique<bond>(terms);
    slot->renewable = slot->renewable || how == renewal::automatic;
    confirm(*slot, terms);
    if (what.by == nullptr) {
        what.by = slot.get();
        slot->living.push_back(what);
    }
    schedule(*slot);
    return slot.get();
}

void keeper::leave(on_bond& what) {
    if (what.by == nullptr)
        return;
    bond& from = *what.by;
    what.by = nullptr;
    from.living.erase(from.living.iterator_to(what));
    if (has(defect::renews_after_release) || !from.living.empty())
        return;
    agenda_.remove(from);
    bonds_.erase(from.terms.bond);
}

void keeper::stop_by(bond& b, instant when) {
    b.stop_at = when;
    schedule(b);
}

bond* keeper::find(bond_id id) noexcept {
    const auto found = bonds_.find(id);
    return found == bonds_.end() ? nullptr : found->second.get();
}

void keeper::remember_lost(bond& b, actions& out) {
    HOLDFAST_ASSERT(b.living.empty(), "what lived on a lost bond ends before it");
    const auto id = b.terms.bond;
    lost_.insert(id);
    lost_order_.push_back(id);
    if (lost_order_.size() > lost_remembered) {
        lost_.erase(lost_order_.front());
        lost_order_.pop_front();
    }
    agenda_.remove(b);
    bonds_.erase(id);
    out.emplace_back(do_forget{id});
}

bool keeper::on_time(bond& b, instant now, ticket next, actions& out) {
    if (now >= b.deadline())
        return true;
    if (b.renewable && !b.asked && now >= b.renew_at)
        ask(b, now, next, out);
    schedule(b);
    return false;
}

bool keeper::answered(const renewal_answer& answer, instant now, actions& out) {
    bond* const b = find(answer.bond);
    if (b == nullptr) // released meanwhile
        return false;
    b->asked = false;
    if (answer.outcome == renewed::lost)
        return true;
    const bool confirmed = answer.outcome == renewed::yes || has(defect::unknown_means_renewed);
    const auto left = b->deadline() - now;
    if (confirmed) {
        auto terms = answer.outcome == renewed::yes ? answer.terms : b->terms;
        if (has(defect::deadline_from_reply) || answer.outcome != renewed::yes)
            terms.anchor = now;
        confirm(*b, terms);
    } else {
        // Counted from the asking: what took its whole time to fail has waited long enough.
        const auto gap = renewal_retry(b->terms.ttl);
        const auto jitter = duration{static_cast<duration::rep>(
            chance_.next() % static_cast<std::uint64_t>(gap.count() / 4 + 1))};
        b->renew_at = std::max(now, later(b->asked_at, gap - jitter));
    }
    const bool was_in_doubt = std::exchange(b->in_doubt, !confirmed);
    if (confirmed || !was_in_doubt)
        notes_.put(out, [&] { return report(confirmed, was_in_doubt, left, span_of(b->terms)); });
    if (now >= b->deadline())
        return true;
    schedule(*b);
    return false;
}

void keeper::clear() noexcept {
    for (auto& [id, b] : bonds_)
        b->living.clear();
}

// Only here does a deadline move, and only forwards.
void keeper::confirm(bond& b, const bond_terms& terms) {
    const auto before = b.deadline();
    const auto after = std::max(before, deadline_of(terms));
    HOLDFAST_ASSERT(after >= before, "a deadline never goes back");
    b.belief->deadline.store(after.time_since_epoch().count(), std::memory_order_release);
    if (b.stop_at != never)
        b.stop_at = later(b.stop_at, after - before);
    if (terms.anchor >= b.terms.anchor)
        b.terms = terms;
    b.renew_at = renewal_due(b.terms);
}

void keeper::schedule(bond& b) {
    auto due = b.deadline();
    if (b.renewable && !b.asked)
        due = std::min(due, b.renew_at);
    agenda_.put(b, std::min(due, b.stop_at));
}

// Takes along whatever would be due soon anyway: one flight instead of many.
void keeper::ask(bond& first, instant now, ticket number, actions& out) {
    do_renew flight{{number, now, later(now, request_limit(first.terms.ttl))}, {}};
    const auto add = [&](bond& b) {
        b.asked = true;
        b.asked_at = now;
        flight.bonds.push_back(b.terms.bond);
        flight.call.answer_by =
            std::min(flight.call.answer_by, later(now, request_limit(b.terms.ttl)));
    };
    add(first);
    std::vector<bond*> company;
    agenda_.each_until(later(now, first.terms.ttl / 12), [&](agenda_item& item) {
        if (item.what == agenda_item::kind::bond) {
            auto& b = static_cast<bond&>(item);
            if (b.renewable && !b.asked && b.renew_at <= later(now, b.terms.ttl / 12))
                company.push_back(&b);
        }
        return company.size() + 1 < batch_limit;
    });
    for (auto* b : company) {
        add(*b);
        schedule(*b);
    }
    out.emplace_back(std::move(flight));
}

} // namespace holdfast::detail
