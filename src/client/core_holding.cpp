// The part of the core that hands out leases and ends them: grants and their users, releases,
// losses. What may be believed, and until when, is in lease/hold.hpp.

#include "client/core.hpp"
#include "lease/validity.hpp"
#include "runtime/assert.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::detail {
namespace {

[[nodiscard]] event::kind event_of(release_result how) noexcept {
    switch (how) {
    case release_result::released:
        return event::kind::released;
    case release_result::lost:
        return event::kind::lost;
    case release_result::unknown:
        break;
    }
    return event::kind::unknown;
}

[[nodiscard]] tell_observer news_of_loss(const hold& h, instant now) {
    return {.what = event::kind::lost, .name = h.name, .fence = h.fence, .took = now - h.since};
}

} // namespace

void core::serve(engine_grant& g, wish* whose, instant now, actions& out) {
    auto& wishes = g.at.wishes;
    if (whose != nullptr)
        hand(g, *whose, now, out);
    else if (g.at.like.mode == mode::shared)
        while (!wishes.empty())
            hand(g, wishes.front(), now, out);
    else if (!wishes.empty())
        hand(g, wishes.front(), now, out);
    if (g.users.empty()) // they all gave up while the grant was on its way
        part(g, nullptr, {}, now, out);
}

void core::hand(engine_grant& g, wish& w, instant now, actions& out) {
    HOLDFAST_ASSERT(g.by != nullptr, "a grant in use lives on a bond");
    HOLDFAST_ASSERT(g.users.empty() || g.at.like.mode == mode::shared,
                    "one user, unless they read");
    unqueue(w);
    const auto& o = w.what.options;
    const auto& h = g.users.emplace_back(std::make_shared<hold>());
    h->name = std::move(w.what.name); // the wish is answered, and needs it no more
    h->fence = turnstile::next_fence(g);
    h->bond = g.by->belief;
    h->generation = settings_.generation;
    h->from = &g;
    h->owner = w.what.owner;
    h->stop_margin = stop_margin_of(o.stop_margin,
                                    o.ttl,
                                    span_of(g.by->terms),
                                    o.renew || settings_.able.ttl == ttl_scope::session);
    h->on_deadline = o.on_deadline;

    const auto until = limit_of(o, now);
    if (until != never) {
        h->until.store(until.time_since_epoch().count(), std::memory_order_relaxed);
        h->limited = std::make_unique<hold::limit>(*h);
        const auto margin = std::max(h->stop_margin, o.stop_margin); // of what is not renewed
        agenda_.put(*h->limited, until - std::min(margin, until - now));
    }
    if (h->on_deadline == on_deadline::kill)
        deadly_.push_back(h.get());
    if (const auto stop_at = g.by->deadline() - h->stop_margin; stop_at < g.by->stop_at)
        keeper_.stop_by(*g.by, stop_at);
    h->since = now;
    notes_.put(out, [&] {
        return tell_observer{.what = g.passes == 0 ? event::kind::granted : event::kind::passed,
                             .name = h->name,
                             .fence = h->fence,
                             .took = now - w.asked_at,
                             .handed_over = g.passes == 0 ? g.handed_over : duration::zero()};
    });
    out.emplace_back(std::in_place_type<tell_wish>, &w, error_code{}, std::string{}, h);
}

// When a lease ends although its bond goes on. A session does not end with an explicit lease on it.
instant core::limit_of(const acquire_options& o, instant now) const noexcept {
    const auto until = later(now, o.max_hold);
    if (o.renew || settings_.able.ttl != ttl_scope::session)
        return until;
    return std::min(until, deadline_of({.bond = {}, .anchor = now, .ttl = o.ttl, .margin = {}}));
}

void core::release(const std::shared_ptr<hold>& h, goodbye* waits, instant now, actions& out) {
    const auto say = [&](release_result r) {
        if (waits != nullptr)
            out.emplace_back(tell_goodbye{waits, r});
    };
    if (h->from == nullptr)
        return say(h->ended.load() == ending::lost ? release_result::lost
                                                   : release_result::released);
    if (h->entries > 1 && h->held_at(now)) {
        --h->entries;
        return say(release_result::released);
    }
    if (!h->held_at(now) && !has(defect::held_is_a_flag)) { // ended before anybody looked
        if (now >= h->from->by->deadline())
            lose_bond(*h->from->by, now, out);
        else
            lose_hold(*h, now, out);
        return say(release_result::lost);
    }
    engine_grant& g = *h->from;
    turnstile& t = g.at;
    end_hold(*h, ending::released);
    const bool others_use_it = !g.users.empty();
    const bool passes = !others_use_it && t.may_pass(g, now);
    if (others_use_it || passes)
        notes_.put(out, [&] {
            return tell_observer{.what = event::kind::released,
                                 .name = h->name,
                                 .fence = h->fence,
                                 .took = now - h->since};
        });
    if (passes) {
        ++g.passes;
        hand(g, t.wishes.front(), now, out);
    } else if (!others_use_it) {
        part(g, std::exchange(waits, nullptr), now - h->since, now, out);
    }
    say(release_result::released);
    settle(t, now, out);
}

void core::end_hold(hold& h, ending how) noexcept {
    engine_grant& g = *h.from;
    h.ended.store(how, std::memory_order_release);
    h.from = nullptr;
    if (h.limited)
        agenda_.remove(*h.limited);
    std::erase(deadly_, &h);
    g.users.erase(
        std::ranges::find_if(g.users, [&](const auto& user) { return user.get() == &h; }));
}

// The renewing ends before the release is sent. After a loss a lock delay counts, which a release
// would cut short: then no more is said to the engine.
void core::part(engine_grant& g, goodbye* waits, duration held, instant now, actions& out) {
    if (g.left_to_expire) {
        if (waits != nullptr)
            out.emplace_back(tell_goodbye{waits, release_result::released});
        end_grant(g);
        return;
    }
    auto& p = partings_.emplace_back(g.what, g.given);
    p.self = std::prev(partings_.end());
    p.waits = waits;
    p.held = held;
    p.gone_at = gone_at(now, *g.what, g.given.terms.ttl);
    end_grant(g);
    send_release(p, now, out);
}

void core::end_grant(engine_grant& g) {
    HOLDFAST_ASSERT(g.users.empty(), "nobody uses a grant that ends");
    keeper_.leave(g);
    grants_.erase(g.what->nonce);
    g.at.grants.erase(g.self);
}

// A release that failed and would be tried again later goes ahead of our next attempt at that name:
// or we would find ourselves in the way.
void core::send_what_waits_to_be_released(const std::string& name, instant now, actions& out) {
    while (!retrying_.empty()) {
        const auto found = retrying_.find(name);
        if (found == retrying_.end())
            return;
        agenda_.remove(*found->second);
        send_release(*found->second, now, out);
    }
}

void core::forget_retry(parting& p) noexcept {
    const auto [first, last] = retrying_.equal_range(p.what->name);
    for (auto it = first; it != last; ++it)
        if (it->second == &p) {
            retrying_.erase(it);
            return;
        }
}

void core::send_release(parting& p, instant now, actions& out) {
    forget_retry(p);
    const auto number = next_ticket();
    parting_asked_.emplace(number, &p);
    out.emplace_back(
        do_release{{number, now, later(now, request_limit(p.what->ttl))}, p.what, p.given});
}

void core::released(ticket number, release_result result, instant now, actions& out) {
    const auto found = parting_asked_.find(number);
    if (found == parting_asked_.end())
        return;
    parting& p = *found->second;
    parting_asked_.erase(found);
    if (p.waits != nullptr)
        out.emplace_back(tell_goodbye{std::exchange(p.waits, nullptr), result});
    notes_.put(out, [&] {
        return tell_observer{.what = event_of(result),
                             .name = std::make_shared<const std::string>(p.what->name),
                             .fence = p.given.fence,
                             .took = p.held};
    });
    if (result != release_result::unknown || now >= p.gone_at) {
        partings_.erase(p.self);
        return;
    }
    agenda_.put(p, later(now, p.pause.next(chance_)));
    retrying_.emplace(p.what->name, &p);
}

void core::renewed(std::span<const renewal_answer> answers, instant now, actions& out) {
    for (const auto& answer : answers)
        if (keeper_.answered(answer, now, out))
            lose_bond(*keeper_.find(answer.bond), now, out);
}

void core::bond_lost(bond_id id, instant now, actions& out) {
    if (auto* b = keeper_.find(id))
        lose_bond(*b, now, out);
}

// An operator, or the engine, took this one grant; its bond may carry others.
void core::grant_lost(const nonce& whose, instant now, actions& out) {
    const auto found = grants_.find(whose);
    if (found == grants_.end())
        return;
    engine_grant& g = *found->second;
    turnstile& t = g.at;
    lose_users(g, now, out);
    end_grant(g);
    settle(t, now, out);
}

void core::lose_users(engine_grant& g, instant now, actions& out) {
    while (!g.users.empty()) {
        const auto h = g.users.back();
        end_hold(*h, ending::lost);
        notes_.put(out, [&] { return news_of_loss(*h, now); });
        out.emplace_back(tell_lost{h});
    }
}

// No more passing on; and its users may want to hurry.
void core::wanted(const nonce& whose, actions& out) {
    const auto found = grants_.find(whose);
    if (found == grants_.end() || std::exchange(found->second->wanted, true))
        return;
    for (const auto& user : found->second->users)
        out.emplace_back(tell_wanted{user});
}

// All that lived on the bond ends at once: leases are lost, places must be asked for again.
void core::lose_bond(bond& b, instant now, actions& out) {
    b.belief->lost.store(true, std::memory_order_release);
    std::vector<turnstile*> touched;
    while (!b.living.empty()) {
        auto& what = b.living.front();
        if (what.living == on_bond::kind::place) {
            talk& k = *static_cast<talk::place&>(what).of;
            b.living.pop_front();
            what.by = nullptr;
            k.woken = true;
            if (!k.on_its_way)
                agenda_.put(k, now);
            continue;
        }
        auto& g = static_cast<engine_grant&>(what);
        if (std::find(touched.begin(), touched.end(), &g.at) == touched.end())
            touched.push_back(&g.at);
        lose_users(g, now, out);
        grants_.erase(g.what->nonce);
        b.living.pop_front();
        what.by = nullptr;
        g.at.grants.erase(g.self);
    }
    keeper_.remember_lost(b, out);
    for (auto* t : touched)
        settle(*t, now, out);
}

// One lease has come to its own limit, though its bond goes on: lost for its holder, given back.
void core::lose_hold(hold& h, instant now, actions& out) {
    std::shared_ptr<hold> self; // keeps it alive while we end it
    for (const auto& user : h.from->users)
        if (user.get() == &h)
            self = user;
    engine_grant& g = *h.from;
    turnstile& t = g.at;
    end_hold(h, ending::lost);
    notes_.put(out, [&] { return news_of_loss(h, now); });
    out.emplace_back(tell_lost{std::move(self)});
    g.left_to_expire = g.what->lock_delay > duration::zero();
    if (g.users.empty())
        part(g, nullptr, now - h.since, now, out);
    settle(t, now, out);
}

void core::stop_those_due(bond& b, instant now, actions& out) {
    auto next = never;
    for (auto& what : b.living) {
        if (what.living != on_bond::kind::grant)
            continue;
        for (const auto& user : static_cast<engine_grant&>(what).users) {
            const auto stop = user->deadline() - user->stop_margin;
            if (user->stopping)
                continue;
            if (now >= stop) {
                user->stopping = true;
                out.emplace_back(tell_stop{user});
            } else {
                next = std::min(next, stop);
            }
        }
    }
    keeper_.stop_by(b, next);
}

} // namespace holdfast::detail
