#include "client/core.hpp"

#include "lease/validity.hpp"
#include "runtime/assert.hpp"

#include <boost/system/errc.hpp>

#include <algorithm>
#include <utility>

namespace holdfast::detail {
namespace {

[[nodiscard]] error_code deadlock() {
    return make_error_code(boost::system::errc::resource_deadlock_would_occur);
}

[[nodiscard]] error_code reason_of(const failure& f) {
    return f.applied == applied::maybe ? make_error_code(errc::outcome_unknown) : f.code;
}

[[nodiscard]] bool is_final(const failure& f) {
    return f.applied == applied::no && f.code != condition::try_again;
}

} // namespace

core::core(core_settings settings, random_source& chance)
    : settings_{std::move(settings)}, chance_{chance} {}

// A client that goes away has closed before; a simulated crash has not. Unlink without a word.
core::~core() {
    agenda_.clear();
    keeper_.clear();
    for (auto& [name, queues] : names_)
        for (auto& t : queues)
            t->wishes.clear();
}

// ------------------------------------------------------------------------------------- asking

void core::acquire(wish& w, instant now, actions& out) {
    if (refuse_if_impossible(w, out))
        return;
    auto& queues = names_[*w.what.name];
    auto like = shape::of(w.what);
    if (w.what.owner != owner_id::nobody && enter_again(w, like, queues, now, out))
        return;
    if (like.mode == mode::exclusive)
        close_to_readers(queues);

    turnstile& t = queue_for(w.what.name, like, queues);
    if (auto* g = t.open_for_readers(now)) {
        hand(*g, w, now, out);
        return;
    }
    if (w.asks_once() && contended_here(t, now)) {
        answer(w, {}, {}, out);
        return;
    }
    w.queued_at = &t;
    w.give_up = later(now, w.asks_once() ? request_limit(like.ttl) : w.what.options.wait);
    t.wishes.push_back(w);
    agenda_.put(w, w.give_up);
    if (w.asks_once() && !t.fair()) // in fair order it begins a talk of its own
        cut_pauses_short(t, now, out);
    settle(t, now, out);
}

bool core::refuse_if_impossible(wish& w, actions& out) {
    const auto& able = settings_.able;
    const auto& o = w.what.options;
    const auto refuse = [&](errc code, const char* sentence) {
        answer(w, code, sentence, out);
        return true;
    };
    if (closed_)
        return refuse(errc::unsupported, "this client has been closed");
    if (w.what.mode == mode::shared && !able.shared)
        return refuse(errc::unsupported, "this engine has no shared locks");
    if (w.what.mode == mode::permit && !able.permits)
        return refuse(errc::unsupported, "this engine has no semaphores");
    if (o.order == queueing::fair && !able.fair)
        return refuse(errc::unsupported, "this engine keeps no order among waiters");
    if (o.lock_delay > duration::zero() && !able.lock_delay)
        return refuse(errc::unsupported, "this engine has no lock delay");
    return false;
}

// What an owner that already holds the name gets: in again, a reading under its own write, or the
// news that it would wait for itself. False: it has nothing here, and asks like everybody.
bool core::enter_again(wish& w, shape& like, queues_of_name& queues, instant now, actions& out) {
    const auto written = held_by(w.what.owner, mode::exclusive, queues, now);
    const auto read = held_by(w.what.owner, mode::shared, queues, now);
    if (like.mode == mode::exclusive) {
        if (written && like.kind == kind::reentrant) {
            ++written->entries;
            out.emplace_back(tell_wish{&w, {}, {}, written});
            return true;
        }
        if (written || read) {
            answer(w, deadlock(), "the caller holds it already and would wait for itself", out);
            return true;
        }
        return false;
    }
    if (like.mode == mode::shared && read) {
        hand(*read->from, w, now, out);
        return true;
    }
    if (like.mode == mode::shared && written) {
        like.within = written->from->given.nonce;
        written->from->wanted = true; // by ourselves: whoever it were passed to would write beside us
    }
    return false;
}

std::shared_ptr<hold>
core::held_by(owner_id who, mode how, const queues_of_name& queues, instant now) const {
    for (const auto& t : queues)
        if (t->like.mode == how)
            for (const auto& g : t->grants)
                for (const auto& user : g.users)
                    if (user->owner == who && user->held_at(now))
                        return user;
    return nullptr;
}

turnstile& core::queue_for(const std::shared_ptr<const std::string>& name,
                           const shape& like,
                           queues_of_name& queues) {
    for (auto& t : queues)
        if (t->like == like)
            return *t;
    return *queues.emplace_back(std::make_unique<turnstile>(name, like));
}

// Known without asking the engine: one of us has it, or stands in its queue already.
bool core::contended_here(const turnstile& t, instant now) const noexcept {
    const auto alive = [&](const engine_grant& g) { return now < g.by->deadline(); };
    if (t.like.mode == mode::exclusive &&
        (!t.wishes.empty() || std::any_of(t.grants.begin(), t.grants.end(), alive)))
        return true;
    return std::any_of(t.talks.begin(), t.talks.end(), [](const talk& k) {
        return k.now == talk::state::waiting && !k.leaving();
    });
}

// Who asks but once must not wait until a talk that others began has recovered from a failure.
void core::cut_pauses_short(turnstile& t, instant now, actions& out) {
    for (auto& k : t.talks)
        if (k.now == talk::state::pausing && !k.leaving() && !k.on_its_way)
            attempt(k, now, out);
}

void core::close_to_readers(const queues_of_name& queues) noexcept {
    for (const auto& t : queues)
        if (t->like.mode == mode::shared)
            for (auto& g : t->grants)
                g.wanted = true;
}

void core::answer(wish& w, error_code error, std::string detail, actions& out) {
    unqueue(w);
    out.emplace_back(tell_wish{&w, error, std::move(detail), nullptr});
}

void core::unqueue(wish& w) noexcept {
    if (w.queued_at != nullptr)
        w.queued_at->wishes.erase(w.queued_at->wishes.iterator_to(w));
    if (w.own != nullptr)
        w.own->for_wish = nullptr;
    w.queued_at = nullptr;
    w.own = nullptr;
    agenda_.remove(w);
}

void core::cancel(wish& w, error_code why, instant now, actions& out) {
    if (w.queued_at == nullptr) // answered already
        return;
    leave_line(w, why, {}, now, out);
}

// What is withdrawn travels ahead of the news: whoever hears that its wait is over may ask again at
// once, and must not find its own abandoned claim in the way.
void core::leave_line(wish& w, error_code why, std::string detail, instant now, actions& out) {
    auto& t = *w.queued_at;
    unqueue(w);
    settle(t, now, out);
    out.emplace_back(tell_wish{&w, why, std::move(detail), nullptr});
}

// The wait is over. If the engine was away, or left us without an answer, say so.
void core::give_up(wish& w, instant now, actions& out) {
    auto& t = *w.queued_at;
    error_code why;
    if (!w.asks_once())
        why = errc::timed_out;
    std::string detail;
    for (const auto& k : t.talks) {
        if (k.leaving() || (t.fair() && &k != w.own))
            continue;
        if (k.on_its_way && now >= k.answer_by)
            why = errc::outcome_unknown;
        else if (k.last_failure.code)
            why = reason_of(k.last_failure);
        detail = k.last_failure.detail;
    }
    leave_line(w, why, std::move(detail), now, out);
}

// ------------------------------------------------------------------------------------- talking

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
    const auto found = names_.find(*t.name);
    HOLDFAST_ASSERT(found != names_.end(), "a turnstile is found under its name");
    std::erase_if(found->second, [&](const auto& queue) { return queue.get() == &t; });
    if (found->second.empty())
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

    talk& k = t.talks.emplace_back(t, std::move(what));
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
    HOLDFAST_ASSERT(!k.on_its_way && !k.leaving(), "one request at a time, and only while wanted");
    const auto& wishes = k.at.wishes;
    const auto first = [&]() -> const wish& { return k.for_wish ? *k.for_wish : wishes.front(); };
    k.joined = (k.for_wish ? !k.for_wish->asks_once()
                           : std::any_of(wishes.begin(), wishes.end(), [](const wish& w) {
                                 return !w.asks_once();
                             }))
                   ? joining::queue
                   : joining::none;
    auto limit = request_limit(k.what->ttl);
    if (first().give_up != never)
        limit = std::clamp<duration>(first().give_up - now, std::chrono::milliseconds{10}, limit);

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
        got(k, *yes, now, out);
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
        got(*found->second, given, now, out);
    else
        woken(whose, now, out); // old news, of a session that is over: ask what is true now
}

void core::got(talk& k, const grant& given, instant now, actions& out) {
    auto& t = k.at;
    if (k.leaving()) {
        k.may_be_applied = true; // ours, but nobody wants it
        leave(k, now, out);
        settle(t, now, out);
        return;
    }
    engine_grant& g = t.grants.emplace_back(t, k.what, given, now);
    g.self = std::prev(t.grants.end());
    auto terms = given.terms;
    if (has(defect::deadline_from_reply))
        terms.anchor = now;
    grants_.emplace(k.what->nonce, &g);

    // An explicit lease ends by itself; the session on which it and others live does not.
    const auto how = settings_.able.ttl == ttl_scope::session ? renewal::automatic : k.what->renewal;
    const bool believed = keeper_.adopt(terms, how, g, now) != nullptr;
    keeper_.leave(k.queued); // after the grant is on it: they may share a bond
    if (!believed) {
        // The answer took so long that the lease has ended, or its bond was lost on the way.
        part(g, nullptr, now, out);
        k.may_be_applied = false;
        begin_again(k, now);
        settle(t, now, out);
        return;
    }
    wish* const whose = k.for_wish;
    k.served = true;
    leave(k, now, out);
    serve(g, whose, now, out);
    settle(t, now, out);
}

// The same talk under a new nonce, after a pause: the old one has been given back.
void core::begin_again(talk& k, instant now) {
    auto what = std::make_shared<claim>(*k.what);
    what->nonce = draw_nonce(chance_);
    talks_.erase(k.what->nonce);
    k.what = std::move(what);
    talks_.emplace(k.what->nonce, &k);
    k.now = talk::state::pausing;
    agenda_.put(k, later(now, k.pause.next(chance_)));
}

void core::refused(talk& k, const contended& no, instant now, actions& out) {
    auto& t = k.at;
    k.pause.reset();
    k.last_failure = {};
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
    note(out, event::kind::waiting, t.name, {}, no.holder ? no.holder->purpose : std::string{});
    answer_those_who_ask_once(k, {}, {}, out);

    if (!wanted_by_somebody(k)) {
        settle(t, now, out);
        return;
    }
    if (k.woken || k.joined == joining::none) {
        attempt(k, now, out); // for those who are ready to wait, or because of a hint on the way
    } else {
        // Push is a hint, asking again is the guarantee: at least twice in a ttl.
        const auto poll = place_kept ? polling_gap(no.retry_after, k.what->ttl)
                                     : k.pause.next(chance_);
        agenda_.put(k, has(defect::only_push_wakes) ? never : later(now, poll));
    }
}

void core::failed(talk& k, const failure& f, instant now, actions& out) {
    auto& t = k.at;
    k.may_be_applied = k.may_be_applied || f.applied == applied::maybe;
    k.last_failure = f;
    if (f.applied == applied::maybe)
        note(out, event::kind::unknown, t.name, {}, f.detail);
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
    answer_those_who_ask_once(k, reason_of(f), f.detail, out);
    if (wanted_by_somebody(k)) {
        k.now = talk::state::pausing;
        if (has(defect::fresh_nonce_on_retry))
            begin_again(k, now);
        else
            agenda_.put(k, later(now, k.pause.next(chance_)));
        return;
    }
    settle(t, now, out);
}

void core::answer_those_who_ask_once(talk& k, error_code why, const std::string& detail, actions& out) {
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
    note(out, event::kind::withdrawn, k.at.name);
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

// After this the engine has ended by itself what was last asked or renewed at `sent`. What lives on a
// session ends with it only, and that may be kept alive by others: there we ask until we are told.
instant core::gone_at(instant sent, const claim& what, duration granted) const noexcept {
    if (settings_.able.ttl == ttl_scope::session)
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

// ------------------------------------------------------------------------------------- holding

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
        part(g, nullptr, now, out);
}

void core::hand(engine_grant& g, wish& w, instant now, actions& out) {
    HOLDFAST_ASSERT(g.by != nullptr, "a grant in use lives on a bond");
    HOLDFAST_ASSERT(g.users.empty() || g.at.like.mode == mode::shared, "one user, unless they read");
    unqueue(w);
    const auto& o = w.what.options;
    auto h = std::make_shared<hold>();
    h->name = w.what.name;
    h->fence = turnstile::next_fence(g);
    h->bond = g.by->belief;
    h->generation = settings_.generation;
    h->from = &g;
    h->owner = w.what.owner;
    h->stop_margin = o.stop_margin > duration::zero() ? o.stop_margin : default_stop_margin(o.ttl);
    h->on_deadline = o.on_deadline;

    auto until = later(now, o.max_hold);
    if (!o.renew && settings_.able.ttl == ttl_scope::session) // the session goes on, the lease does not
        until = std::min(until, deadline_of({.bond = {}, .anchor = now, .ttl = o.ttl, .margin = {}}));
    if (until != never) {
        h->until.store(until.time_since_epoch().count(), std::memory_order_relaxed);
        h->limited = std::make_unique<hold::limit>(*h);
        agenda_.put(*h->limited, until - std::min(h->stop_margin, until - now));
    }
    if (h->on_deadline == on_deadline::kill)
        deadly_.push_back(h.get());
    keeper_.stop_by(*g.by, std::min(g.by->stop_at, g.by->deadline() - h->stop_margin));
    note(out, g.passes == 0 ? event::kind::granted : event::kind::passed, h->name, h->fence);
    g.users.push_back(h);
    out.emplace_back(tell_wish{&w, {}, {}, std::move(h)});
}

void core::release(const std::shared_ptr<hold>& h, goodbye* waits, instant now, actions& out) {
    const auto say = [&](release_result r) {
        if (waits != nullptr)
            out.emplace_back(tell_goodbye{waits, r});
    };
    if (h->from == nullptr)
        return say(h->ended.load() == ending::lost ? release_result::lost : release_result::released);
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
    if (g.users.empty()) {
        if (t.may_pass(g, now)) {
            ++g.passes;
            hand(g, t.wishes.front(), now, out);
        } else {
            part(g, std::exchange(waits, nullptr), now, out);
        }
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
    std::erase_if(g.users, [&](const auto& user) { return user.get() == &h; });
}

// The renewing ends before the release is sent. After a loss a lock delay counts, which a release would
// cut short: then no more is said to the engine.
void core::part(engine_grant& g, goodbye* waits, instant now, actions& out) {
    if (g.left_to_expire) {
        if (waits != nullptr)
            out.emplace_back(tell_goodbye{waits, release_result::released});
        end_grant(g);
        return;
    }
    auto& p = partings_.emplace_back(g.what, g.given);
    p.self = std::prev(partings_.end());
    p.waits = waits;
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

void core::send_release(parting& p, instant now, actions& out) {
    const auto number = next_ticket();
    parting_asked_.emplace(number, &p);
    out.emplace_back(do_release{{number, now, later(now, request_limit(p.what->ttl))}, p.what, p.given});
}

void core::released(ticket number, release_result result, instant now, actions& out) {
    const auto found = parting_asked_.find(number);
    if (found == parting_asked_.end())
        return;
    parting& p = *found->second;
    parting_asked_.erase(found);
    if (p.waits != nullptr)
        out.emplace_back(tell_goodbye{std::exchange(p.waits, nullptr), result});
    if (settings_.observed)
        note(out,
             result == release_result::unknown ? event::kind::unknown : event::kind::released,
             std::make_shared<const std::string>(p.what->name),
             p.given.fence);
    if (result == release_result::unknown && now < p.gone_at)
        agenda_.put(p, later(now, p.pause.next(chance_)));
    else
        partings_.erase(p.self);
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
    lose_users(g, out);
    end_grant(g);
    settle(t, now, out);
}

void core::lose_users(engine_grant& g, actions& out) {
    while (!g.users.empty()) {
        const auto h = g.users.back();
        end_hold(*h, ending::lost);
        note(out, event::kind::lost, h->name, h->fence);
        out.emplace_back(tell_lost{h});
    }
}

void core::wanted(const nonce& whose) {
    if (const auto found = grants_.find(whose); found != grants_.end())
        found->second->wanted = true;
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
        lose_users(g, out);
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
    note(out, event::kind::lost, h.name, h.fence);
    out.emplace_back(tell_lost{std::move(self)});
    g.left_to_expire = g.what->lock_delay > duration::zero();
    if (g.users.empty())
        part(g, nullptr, now, out);
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

// ---------------------------------------------------------------------------------------- time

void core::on_time(instant now, actions& out) {
    while (auto* item = agenda_.take_due(now)) {
        switch (item->what) {
        case agenda_item::kind::bond: {
            auto& b = static_cast<bond&>(*item);
            if (now >= b.stop_at && now < b.deadline())
                stop_those_due(b, now, out);
            if (keeper_.on_time(b, now, next_ticket(), out))
                lose_bond(b, now, out);
            break;
        }
        case agenda_item::kind::hold_limit:
            limit_due(static_cast<hold::limit&>(*item).of, now, out);
            break;
        case agenda_item::kind::talk:
            talk_due(static_cast<talk&>(*item), now, out);
            break;
        case agenda_item::kind::wish:
            give_up(static_cast<wish&>(*item), now, out);
            break;
        case agenda_item::kind::parting:
            parting_due(static_cast<parting&>(*item), now, out);
            break;
        }
    }
}

void core::limit_due(hold& h, instant now, actions& out) {
    const auto until = instant{duration{h.until.load(std::memory_order_relaxed)}};
    if (now >= until)
        return lose_hold(h, now, out);
    if (!std::exchange(h.stopping, true))
        for (const auto& user : h.from->users)
            if (user.get() == &h)
                out.emplace_back(tell_stop{user});
    agenda_.put(*h.limited, until);
}

void core::talk_due(talk& k, instant now, actions& out) {
    if (!k.leaving())
        return attempt(k, now, out);
    auto& t = k.at;
    if (now >= gone_at(k.last_attempt, *k.what)) {
        end_talk(k);
        settle(t, now, out);
    } else {
        withdraw(k, now, out);
    }
}

void core::parting_due(parting& p, instant now, actions& out) {
    if (now >= p.gone_at)
        partings_.erase(p.self);
    else
        send_release(p, now, out);
}

instant core::deadly_deadline() const noexcept {
    auto earliest = never;
    for (const auto* h : deadly_)
        earliest = std::min(earliest, h->deadline());
    return earliest;
}

std::size_t core::unsettled() const noexcept {
    std::size_t leaving = 0;
    for (const auto& [name, queues] : names_)
        for (const auto& t : queues)
            leaving += static_cast<std::size_t>(std::count_if(
                t->talks.begin(), t->talks.end(), [](const talk& k) { return k.leaving(); }));
    return partings_.size() + leaving;
}

void core::close(instant now, actions& out) {
    closed_ = true;
    std::vector<turnstile*> all;
    for (auto& [name, queues] : names_)
        for (auto& t : queues)
            all.push_back(t.get());
    for (auto* t : all) {
        while (!t->wishes.empty())
            answer(t->wishes.front(), errc::cancelled, "the client was closed", out);
        while (!t->grants.empty()) {
            auto& g = t->grants.front();
            while (!g.users.empty()) {
                const auto h = g.users.back();
                end_hold(*h, ending::released);
            }
            part(g, nullptr, now, out);
        }
        settle(*t, now, out);
    }
}

void core::note(actions& out,
                event::kind what,
                const std::shared_ptr<const std::string>& name,
                fence f,
                std::string detail) const {
    if (settings_.observed)
        out.emplace_back(tell_observer{what, name, f, std::move(detail)});
}

} // namespace holdfast::detail
