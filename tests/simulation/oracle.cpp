#include "simulation/oracle.hpp"
#include "simulation/world.hpp"
#include "waiting/turnstile.hpp"

#include <algorithm>
#include <array>

namespace holdfast::simulation {
namespace {

using models::sighting;
using namespace std::chrono_literals;

constexpr const char* i1 = "I1 belief";
constexpr const char* i3 = "I3 fences";
constexpr const char* i6 = "I6 losing";

} // namespace

oracle::holding* oracle::find(const detail::hold& h) {
    for (auto& one : holdings_)
        if (one.lease.get() == &h)
            return &one;
    return nullptr;
}

// ------------------------------------------------------------------------------- what is reported

void oracle::asks(const process& who, const std::string& name) {
    auto& n = names_[name];
    ++n.waiting[who.id()];
    n.idle_since = std::max(n.idle_since, world_.time());
}

void oracle::answered(const process& who, const std::string& name) {
    auto& n = names_[name];
    if (--n.waiting[who.id()] == 0)
        n.waiting.erase(who.id());
}

void oracle::began(process& by, const std::shared_ptr<detail::hold>& h, const asking& wish) {
    if (find(*h) != nullptr) {
        world_.seen(sighting::entered_again);
        return;
    }
    const auto* const g = h->from;
    if (g == nullptr) // granted and ended in one breath
        return;
    holdings_.push_back({h, &by, g->what, h->owner, by.now(), h->deadline(), by.disturbances()});
    const auto& one = holdings_.back();
    auto& name = names_[g->what->name];
    if (world_.story.with_lines())
        world_.say(by.id(),
                   " HOLDS ",
                   g->what->name,
                   " ",
                   short_name(g->what->nonce),
                   " fence ",
                   h->fence.value(),
                   " for ",
                   (h->deadline() - by.now()) / 1us,
                   " us");
    if (g->what->within)
        world_.seen(sighting::read_under_own_write);
    check_passing(one, *g);
    if (world_.o.calm)
        check_order(one, *g, wish);
    if (g->what->mode == mode::exclusive && !world_.o.wild)
        check_fence(one, name);
    if (!world_.o.wild)
        check_lock_delay(one, name);
    if (std::exchange(name.holder_died, false))
        world_.seen(sighting::dead_holder_taken_over);
}

void oracle::check_passing(const holding& one, const detail::engine_grant& g) {
    auto& p = passings_[g.given.nonce];
    if (p.since == instant{}) {
        p.since = one.began;
        return;
    }
    if (g.what->mode == mode::shared) {
        world_.seen(sighting::reader_joined);
        return;
    }
    world_.seen(sighting::lease_passed_on);
    ++p.passes;
    if (g.at.fair())
        throw violation{"fair order", "a lease was passed on although its shape is fair"};
    if (p.wanted)
        throw violation{"I8 passing is bounded", "passed on although others want it"};
    if (p.passes > 64 || one.began - p.since >= 50ms)
        throw violation{"I8 passing is bounded", p.passes, " passes"};
}

// Only where messages travel in order, and nothing goes wrong.
void oracle::check_order(const holding& one, const detail::engine_grant& g, const asking& wish) {
    if (!g.at.fair() || one.what->mode != mode::exclusive || !has_sessions(world_.o.engine) ||
        wish.what.options.ttl != world_.o.ttl || one.what->renewal != renewal::automatic ||
        one.what->kind == kind::reentrant)
        return;
    auto& last = last_served_[{one.by->id(), one.what->name}];
    if (wish.order < last)
        throw violation{"fair order", "somebody was overtaken in the queue for ", one.what->name};
    last = wish.order;
}

void oracle::check_fence(const holding& one, name_state& name) {
    const bool passed = name.last_nonce == one.what->nonce;
    const auto mine = one.lease->fence;
    if (passed ? mine < name.last_begun : mine <= name.last_begun)
        throw violation{i3,
                        "fence ",
                        mine.value(),
                        " of ",
                        one.what->name,
                        " came after ",
                        name.last_begun.value()};
    name.last_begun = mine;
    name.last_nonce = one.what->nonce;
}

void oracle::check_lock_delay(const holding& one, const name_state& name) {
    if (one.what->within || one.what->mode == mode::permit || world_.time() >= name.kept_back_until)
        return;
    if (one.what->mode == mode::exclusive || name.kept_from_readers)
        throw violation{
            "lock delay", one.what->name, " was granted before its lock delay had passed"};
}

void oracle::told_stop(const process& by, const detail::hold& h) {
    auto* const one = find(h);
    if (one == nullptr)
        return;
    if (one->stop_told)
        throw violation{i6, "stop was told twice"};
    one->stop_told = true;
    if (by.now() >= h.deadline() && one->disturbed_before == by.disturbances())
        throw violation{i6, "stop was told after the deadline"};
}

std::shared_ptr<const claim> oracle::lost(const process& by, const detail::hold& h) {
    auto* const one = find(h);
    if (one == nullptr)
        throw violation{i6, "lost twice, or lost after it was released"};
    const auto now = by.now();
    if (world_.story.with_lines())
        world_.say(by.id(), " LOST ", one->what->name, " ", short_name(one->what->nonce));
    const bool by_deadline = now >= h.deadline();
    const bool by_limit = by_deadline && h.until.load() == h.deadline().time_since_epoch().count();
    const bool renewed = one->what->renewal == renewal::automatic || has_sessions(world_.o.engine);
    if (world_.healthy() && renewed && !by_limit)
        throw violation{"liveness", "a lease of ", one->what->name, " was lost while all was well"};
    const bool undisturbed = one->disturbed_before == by.disturbances();
    if (by_deadline && undisturbed && !one->stop_told && h.deadline() - one->began > 20ms)
        throw violation{i6, "the deadline passed without a stop before it"};
    if (by_deadline && one->what->renewal == renewal::none)
        world_.seen(sighting::explicit_lease_ended);
    else if (by_limit)
        world_.seen(sighting::max_hold_ended);
    else if (by_deadline)
        world_.seen(sighting::lease_expired_under_a_living_holder);
    ended(*one);
    auto what = one->what;
    std::erase_if(holdings_, [&](const holding& each) { return each.lease.get() == &h; });
    return what;
}

// Ended by failure: its lock delay begins when nobody believes in it any more.
void oracle::ended(const holding& one) {
    auto& name = names_[one.what->name];
    if (one.what->lock_delay == duration::zero() || one.what->mode == mode::permit)
        return;
    const auto deadline = one.by->on().boot.when(one.lease->deadline().time_since_epoch());
    const auto until = deadline + one.what->lock_delay - one.what->lock_delay / 400;
    if (until > name.kept_back_until) {
        name.kept_back_until = until;
        name.kept_from_readers = one.what->mode == mode::exclusive;
    }
    world_.seen(sighting::kept_back_by_lock_delay);
}

void oracle::wanted(process_id, const nonce& whose) {
    if (const auto found = passings_.find(whose); found != passings_.end())
        found->second.wanted = true;
}

void oracle::died(const process& who) {
    for (const auto& one : holdings_)
        if (one.by == &who && who.believes(*one.lease)) {
            names_[one.what->name].holder_died = true;
            ended(one);
        }
    std::erase_if(holdings_, [&](const holding& one) { return one.by == &who; });
    for (auto& [name, n] : names_)
        n.waiting.erase(who.id());
}

void oracle::woke(const machine& m) {
    for (const auto& one : holdings_)
        if (&one.by->on() == &m && !one.by->believes(*one.lease))
            world_.seen(sighting::suspend_outlived_a_lease);
}

void oracle::forked(const process& parent, const process& child) {
    for (const auto& one : holdings_) {
        if (one.by != &parent || !parent.believes(*one.lease))
            continue;
        if (child.believes(*one.lease))
            throw violation{i1, "a forked child believes in its parent's lease"};
        world_.seen(sighting::child_held_nothing);
    }
}

void oracle::engine_granted(const claim& what, process_id, fence given, std::uint32_t reserved) {
    if (what.mode != mode::exclusive)
        return;
    auto& last = names_[what.name].last_granted;
    if (given.value() <= last)
        throw violation{
            i3, "the engine granted ", what.name, " with fence ", given.value(), " after ", last};
    last = given.value() + reserved;
}

// -------------------------------------------------------------------------------- after each event

void oracle::check() {
    std::erase_if(holdings_, [](const holding& one) {
        return one.lease->ended.load() == detail::ending::released;
    });
    for (auto& one : holdings_)
        check_one(one);
    if (!world_.o.wild && holdings_.size() > 1)
        check_beliefs();
    if (world_.healthy())
        check_nobody_waits_in_vain();
}

// The longest that a free lock may stay free while somebody waits for it: what a dead holder leaves
// behind ends after T + D, and then the next one asks, if need be after a pause.
void oracle::check_nobody_waits_in_vain() {
    for (const auto& one : holdings_)
        names_[one.what->name].idle_since = world_.time();
    for (const auto& [name, n] : names_)
        if (!n.waiting.empty() && world_.time() - std::max(n.idle_since, world_.healthy_since()) >
                                      world_.longest_lease() + world_.o.ttl * 2 + 2s)
            throw violation{"liveness", name, " is free, and somebody waits for it"};
}

void oracle::check_one(holding& one) {
    const auto deadline = one.lease->deadline();
    if (deadline < one.deadline)
        throw violation{"I7 deadlines", "the deadline of ", one.what->name, " moved back"};
    one.deadline = deadline;
    if (!world_.o.wild && one.by->believes(*one.lease) && !world_.backs(*one.what))
        throw violation{i1,
                        one.by->id(),
                        " believes in ",
                        one.what->name,
                        " ",
                        short_name(one.what->nonce),
                        ", which the engine keeps no more"};
}

void oracle::check_beliefs() {
    for (std::size_t i = 0; i < holdings_.size(); ++i) {
        const auto& a = holdings_[i];
        if (!a.by->believes(*a.lease))
            continue;
        std::uint32_t together = 1;
        for (std::size_t j = i + 1; j < holdings_.size(); ++j) {
            const auto& b = holdings_[j];
            if (a.what->name != b.what->name || !b.by->believes(*b.lease))
                continue;
            ++together;
            const bool permits = a.what->mode == mode::permit && b.what->mode == mode::permit;
            const bool readers = a.what->mode == mode::shared && b.what->mode == mode::shared;
            const bool one_owner = a.by == b.by && a.owner == b.owner &&
                                   a.owner != owner_id::nobody && a.what->mode != b.what->mode;
            if ((permits && together > a.what->permits) || !(permits || readers || one_owner))
                throw violation{i1,
                                a.by->id(),
                                " and ",
                                b.by->id(),
                                " both believe that they hold ",
                                a.what->name};
        }
    }
}

} // namespace holdfast::simulation
