// The part of the core that talks to the engine: attempts, answers, pauses, withdrawals. The
// picture of one such conversation is in waiting/talk.hpp.

#include "client/core.hpp"
#include "lease/validity.hpp"
#include "runtime/assert.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::detail {
namespace {

[[nodiscard]] bool is_final(const failure& f) {
    return f.applied == applied::no && f.code != condition::try_again;
}

[[nodiscard]] duration since_decided(const grant& given, instant now) {
    return given.since == instant{} || given.since > now ? duration::zero() : now - given.since;
}

} // namespace

// Makes the talks fit the wishes. Always the last thing done to a turnstile: it may be gone after.
void core::settle(turnstile& t, instant now, actions& out) {
    for (auto it = t.talks.begin(); it != t.talks.end();) {
        auto& k = *it++;
        if (!k.leaving() && !wanted_by_somebody(k))
            leave(k, now, out);
    }
    while (t.talks_going() < t.talks_wanted())
        begin_talk(t, now, out);
    if (!t.idle())
        return;
    const auto queues = queues_of(*t.name);
    const auto found =
        std::ranges::find_if(queues, [&](const auto& one) { return &one.second == &t; });
    HOLDFAST_ASSERT(found != queues.end(), "a turnstile is found under its name");
    names_.erase(found);
}

bool core::wanted_by_somebody(const talk& k) noexcept {
    return k.at.fair() ? k.for_wish != nullptr : k.at.talks_wanted() > 0;
}

void core::begin_talk(turnstile& t, instant now, actions& out) {
    auto what = std::make_shared<claim>();
    what->name = *t.name;
    what->kind = t.like.kind;
    what->mode = t.like.mode;
    what->permits = t.like.permits;
    what->ttl = t.like.ttl;
    what->lock_delay = t.like.lock_delay;
    what->renewal = t.like.renew ? renewal::automatic : renewal::none;
    what->nonce = draw_nonce(chance_);
    what->within = t.like.within;
    what->by = settings_.by;

    talk& k = t.talks.emplace_back(t, std::move(what), t.like.waiting);
    k.self = std::prev(t.talks.end());
    k.queued.of = &k;
    if (t.fair()) {
        const auto lonely = std::find_if(
            t.wishes.begin(), t.wishes.end(), [](const wish& w) { return w.own == nullptr; });
        HOLDFAST_ASSERT(lonely != t.wishes.end(), "a fair talk is somebody's");
        k.for_wish = &*lonely;
        lonely->own = &k;
    }
    talks_.emplace(k.what->nonce, &k);
    attempt(k, now, out);
}

void core::attempt(talk& k, instant now, actions& out) {
    send_what_waits_to_be_released(k.what->name, now, out);
    HOLDFAST_ASSERT(!k.on_its_way && !k.leaving(), "one request at a time, and only while wanted");
    const auto& wishes = k.at.wishes;
    HOLDFAST_ASSERT(k.for_wish != nullptr || !wishes.empty(), "nothing is asked for nobody");
    const wish& first = k.for_wish ? *k.for_wish : wishes.front();
    const auto waits = [](const wish& w) { return !w.asks_once(); };
    const bool some_wait =
        k.for_wish ? waits(first) : std::any_of(wishes.begin(), wishes.end(), waits);
    auto limit = request_limit(k.what->ttl);
    if (first.give_up != never)
        limit = std::clamp<duration>(first.give_up - now, std::chrono::milliseconds{10}, limit);

    k.joined = some_wait && !k.at.spins() ? joining::queue : joining::none;
    k.now = talk::state::attempting;
    k.on_its_way = true;
    k.woken = false;
    k.last_attempt = now;
    k.answer_by = later(now, limit);
    const auto number = next_ticket();
    asked_.emplace(number, &k);
    agenda_.remove(k);
    out.emplace_back(do_attempt{{number, now, k.answer_by}, k.what, k.joined});
}

void core::attempted(ticket number, const attempt_answer& answer, instant now, actions& out) {
    const auto found = asked_.find(number);
    if (found == asked_.end())
        return;
    talk& k = *found->second;
    asked_.erase(found);
    k.on_its_way = false;
    // Served by a push while this was on its way: the grant in use speaks for itself, but what has
    // been released since may just have been granted anew.
    k.served = k.served && grants_.contains(k.what->nonce);
    if (const auto* yes = std::get_if<grant>(&answer))
        got(k, *yes, {}, now, out);
    else if (const auto* no = std::get_if<contended>(&answer))
        refused(k, *no, now, out);
    else
        failed(k, std::get<failure>(answer), now, out);
}

void core::granted(const nonce& whose, const grant& given, instant now, actions& out) {
    const auto found = talks_.find(whose);
    if (found == talks_.end() || found->second->leaving())
        return; // it is being withdrawn, which takes the grant back too
    if (keeper_.may_be_believed(given.terms, now))
        got(*found->second, given, since_decided(given, now), now, out);
    else
        woken(whose, now, out); // old news, of a session that is over: ask what is true now
}

void core::got(talk& k, const grant& given, duration handed_over, instant now, actions& out) {
    auto& t = k.at;
    if (k.leaving()) {
        k.may_be_applied = true; // ours, but nobody wants it
        leave(k, now, out);
        settle(t, now, out);
        return;
    }
    engine_grant& g = t.grants.emplace_back(t, k.what, given, now);
    g.self = std::prev(t.grants.end());
    g.handed_over = handed_over;
    auto terms = given.terms;
    if (has(defect::deadline_from_reply))
        terms.anchor = now;
    grants_.emplace(k.what->nonce, &g);

    // An explicit lease ends by itself; the session on which it and others live does not.
    const auto how =
        settings_.able.ttl == ttl_scope::session ? renewal::automatic : k.what->renewal;
    if (how == renewal::none)
        keeper_.leave(k.queued); // whose bond was renewed, and may be the lease's own: no more
    const bool believed = keeper_.adopt(terms, how, g, now) != nullptr;
    keeper_.leave(k.queued); // after the grant is on it: they may share a bond
    if (!believed) {
        // The answer took so long that the lease has ended, or its bond was lost on the way.
        part(g, nullptr, {}, now, out);
        k.may_be_applied = false;
        rename(k);
        return failed(k,
                      {errc::backend_unavailable,
                       applied::no,
                       "the engine's answer came too late to be believed"},
                      now,
                      out);
    }
    wish* const whose = k.for_wish;
    k.served = true;
    leave(k, now, out);
    serve(g, whose, now, out);
    settle(t, now, out);
}

// The same talk under a new nonce: the old one has been given back.
void core::rename(talk& k) {
    auto what = std::make_shared<claim>(*k.what);
    what->nonce = draw_nonce(chance_);
    talks_.erase(k.what->nonce);
    k.what = std::move(what);
    talks_.emplace(k.what->nonce, &k);
}

void core::refused(talk& k, const contended& no, instant now, actions& out) {
    auto& t = k.at;
    k.pause.reset();
    if (std::exchange(k.last_failure, {}).code) {
        if (k.for_wish != nullptr)
            k.for_wish->failures = 0;
        else
            for (auto& w : t.wishes)
                w.failures = 0;
    }
    k.may_be_applied = k.joined == joining::queue;
    if (k.leaving()) {
        leave(k, now, out);
        settle(t, now, out);
        return;
    }
    k.now = talk::state::waiting;
    bool place_kept = true;
    if (no.keeps_place)
        place_kept = keeper_.adopt(*no.keeps_place, renewal::automatic, k.queued, now) != nullptr;
    else
        keeper_.leave(k.queued);
    notes_.put(out, [&] {
        return tell_observer{.what = event::kind::waiting,
                             .name = t.name,
                             .detail = no.holder ? no.holder->purpose : std::string{}};
    });
    answer_those_who_ask_once(k, {}, {}, out);

    if (!wanted_by_somebody(k)) {
        settle(t, now, out);
        return;
    }
    if (t.spins()) {
        agenda_.put(k, later(now, k.spin.next(chance_)));
    } else if (k.woken || k.joined == joining::none) {
        attempt(k, now, out); // for those who are ready to wait, or because of a hint on the way
    } else {
        // Push is a hint, asking again is the guarantee: at least twice in a ttl.
        const auto poll =
            place_kept ? polling_gap(no.retry_after, k.what->ttl) : k.pause.next(chance_);
        agenda_.put(k, has(defect::only_push_wakes) ? never : later(now, poll));
    }
}

void core::failed(talk& k, const failure& f, instant now, actions& out) {
    auto& t = k.at;
    k.may_be_applied = k.may_be_applied || f.applied == applied::maybe;
    k.last_failure = f;
    if (f.applied == applied::maybe)
        notes_.put(out, [&] {
            return tell_observer{.what = event::kind::unknown, .name = t.name, .detail = f.detail};
        });
    if (k.leaving()) {
        leave(k, now, out);
        settle(t, now, out);
        return;
    }
    if (is_final(f)) {
        if (k.for_wish != nullptr)
            answer(*k.for_wish, f.code, f.detail, out);
        else
            while (!t.wishes.empty())
                answer(t.wishes.front(), f.code, f.detail, out);
        settle(t, now, out);
        return;
    }
    const auto pause = pause_after(k, now, out);
    if (wanted_by_somebody(k)) {
        k.now = talk::state::pausing;
        if (has(defect::fresh_nonce_on_retry))
            rename(k);
        agenda_.put(k, later(now, pause));
        return;
    }
    settle(t, now, out);
}

// Each of those who wait has a policy of its own for an engine that is away: some give up now, and
// the least patient of the others says when it is tried again. That try counts for him alone.
duration core::pause_after(talk& k, instant now, actions& out) {
    const auto usual = k.pause.next(chance_);
    auto pause = forever;
    const auto ask = [&](wish& w) {
        if (const auto next = next_try(w, usual, now))
            pause = std::min(pause, *next);
        else
            answer(w, reason_of(k.last_failure), k.last_failure.detail, out);
    };
    if (k.for_wish != nullptr) {
        ask(*k.for_wish);
        return pause;
    }
    for (auto it = k.at.wishes.begin(); it != k.at.wishes.end();)
        ask(*it++);
    return pause;
}

std::optional<duration> core::next_try(wish& w, duration usual, instant now) {
    const auto& policy = w.what.options.retry;
    if (policy.is_default())
        return w.asks_once() ? std::nullopt : std::optional{usual};
    if (w.failures > 0 && now < w.retry_at)
        return w.retry_at - now;
    if (w.failures == 0)
        w.failing_since = now;
    const auto next = policy.pause_before(w.failures++, now - w.failing_since, chance_.next());
    if (next)
        w.retry_at = later(now, *next);
    return next;
}

void core::answer_those_who_ask_once(talk& k,
                                     error_code why,
                                     const std::string& detail,
                                     actions& out) {
    if (k.at.fair()) {
        if (k.for_wish != nullptr && k.for_wish->asks_once())
            answer(*k.for_wish, why, detail, out);
        return;
    }
    for (auto it = k.at.wishes.begin(); it != k.at.wishes.end();) {
        auto& w = *it++;
        if (w.asks_once())
            answer(w, why, detail, out);
    }
}

// Nobody wants this talk any more (or its grant is in use): end it, taking back what may be there.
void core::leave(talk& k, instant now, actions& out) {
    k.unwanted = true;
    if (k.for_wish != nullptr && !k.served) {
        k.for_wish->own = nullptr;
        k.for_wish = nullptr;
    }
    keeper_.leave(k.queued);
    agenda_.remove(k);
    if (k.on_its_way)
        return; // its answer will bring us back here
    if (k.may_be_applied && !k.served)
        withdraw(k, now, out);
    else
        end_talk(k);
}

void core::withdraw(talk& k, instant now, actions& out) {
    k.now = talk::state::withdrawing;
    k.on_its_way = true;
    const auto number = next_ticket();
    asked_.emplace(number, &k);
    notes_.put(out,
               [&] { return tell_observer{.what = event::kind::withdrawn, .name = k.at.name}; });
    out.emplace_back(do_withdraw{{number, now, later(now, request_limit(k.what->ttl))}, k.what});
}

void core::withdrawn(ticket number, applied certainty, instant now, actions& out) {
    const auto found = asked_.find(number);
    if (found == asked_.end())
        return;
    talk& k = *found->second;
    asked_.erase(found);
    k.on_its_way = false;
    auto& t = k.at;
    if (certainty == applied::no || now >= gone_at(k.last_attempt, *k.what)) {
        end_talk(k);
        settle(t, now, out);
        return;
    }
    agenda_.put(k, later(now, k.pause.next(chance_)));
}

// After this the engine has ended by itself what was last asked or renewed at `sent`. What shares a
// bond or a session with others may be kept alive by them: there we ask until we are told.
instant core::gone_at(instant sent, const claim& what, duration granted) const noexcept {
    if (settings_.able.ttl != ttl_scope::grant)
        return never;
    return gone_by_itself(sent, std::max(what.ttl, granted), what.lock_delay);
}

void core::end_talk(talk& k) {
    agenda_.remove(k);
    keeper_.leave(k.queued);
    if (k.for_wish != nullptr)
        k.for_wish->own = nullptr;
    talks_.erase(k.what->nonce);
    k.at.talks.erase(k.self);
}

void core::woken(const nonce& whose, instant now, actions& out) {
    const auto found = talks_.find(whose);
    if (found == talks_.end() || found->second->leaving())
        return;
    talk& k = *found->second;
    if (k.on_its_way)
        k.woken = true;
    else
        attempt(k, now, out);
}

} // namespace holdfast::detail
