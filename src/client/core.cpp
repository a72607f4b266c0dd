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

} // namespace

core::core(core_settings settings, random_source& chance)
    : settings_{std::move(settings)}, chance_{chance} {}

// A client that goes away has closed before; a simulated crash has not. Unlink without a word.
core::~core() {
    agenda_.clear();
    keeper_.clear();
    for (auto& [name, t] : names_)
        t.wishes.clear();
}

// ------------------------------------------------------------------------------------- asking

// Most who wait just queue behind one of us who holds it: nothing to decide, nothing to do, and no
// need to know what time it is. Whatever differs from that goes through acquire().
bool core::lines_up(wish& w) noexcept {
    const auto& r = w.what;
    if (closed_ || notes_.listening() || r.owner != owner_id::nobody ||
        !r.options.require.empty() || r.mode != mode::exclusive || r.options.wait != forever)
        return false;
    const auto queues = queues_of(*r.name);
    if (queues.empty() || std::next(queues.begin()) != queues.end())
        return false; // unknown here, or shared with readers, who have to be told
    turnstile& t = queues.front().second;
    if (t.grants.empty() || t.fair() || t.like != shape::of(r))
        return false;
    w.queued_at = &t;
    w.give_up = never;
    t.wishes.push_back(w);
    return true;
}

void core::acquire(wish& w, instant now, actions& out) {
    w.asked_at = now;
    if (refuse_if_impossible(w, out))
        return;
    const auto queues = queues_of(*w.what.name);
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
    w.give_up = w.asks_once() ? asks_until(w, now) : later(now, w.what.options.wait);
    t.wishes.push_back(w);
    agenda_.put(w, w.give_up);
    if (w.asks_once() && !t.fair()) // in fair order it begins a talk of its own
        cut_pauses_short(t, now, out);
    settle(t, now, out);
}

// Who asks just once waits for one request; or for as many as his retry policy allows, which then
// says when it is enough.
instant core::asks_until(const wish& w, instant now) noexcept {
    const auto& o = w.what.options;
    return o.retry.is_default() ? later(now, request_limit(o.ttl)) : never;
}

bool core::refuse_if_impossible(wish& w, actions& out) {
    const auto& able = settings_.able;
    const auto& o = w.what.options;
    const auto refuse = [&](errc code, std::string sentence) {
        answer(w, code, std::move(sentence), out);
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
    if (o.require.has(guarantee::fence) && w.what.mode == mode::permit)
        return refuse(errc::unsupported, "permits carry no fence");
    if (o.require.empty())
        return false;
    auto able_here = able;
    able_here.loses_permits = able.loses_permits && w.what.mode == mode::permit;
    if (auto reason = what_is_missing(able_here, o.require); !reason.empty())
        return refuse(errc::unsupported, std::move(reason));
    return false;
}

// What an owner that already holds the name gets: in again, a reading under its own write, or the
// news that it would wait for itself. False: it has nothing here, and asks like everybody.
bool core::enter_again(
    wish& w, shape& like, const queues_of_name& queues, instant now, actions& out) {
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
        // By ourselves: whoever it were passed to would write beside us.
        written->from->wanted = true;
    }
    return false;
}

std::shared_ptr<hold>
core::held_by(owner_id who, mode how, const queues_of_name& queues, instant now) const {
    for (const auto& [name, t] : queues)
        if (t.like.mode == how)
            for (const auto& g : t.grants)
                for (const auto& user : g.users)
                    if (user->owner == who && user->held_at(now))
                        return user;
    return nullptr;
}

core::queues_of_name core::queues_of(std::string_view name) {
    const auto [first, last] = names_.equal_range(name);
    return {first, last};
}

turnstile& core::queue_for(const std::shared_ptr<const std::string>& name,
                           const shape& like,
                           const queues_of_name& queues) {
    for (auto& [n, t] : queues)
        if (t.like == like)
            return t;
    return names_
        .emplace(std::piecewise_construct,
                 std::forward_as_tuple(*name),
                 std::forward_as_tuple(name, like))
        ->second;
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
    for (auto& [name, t] : queues)
        if (t.like.mode == mode::shared)
            for (auto& g : t.grants)
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
    if (now < p.gone_at)
        return send_release(p, now, out);
    forget_retry(p);
    partings_.erase(p.self);
}

instant core::deadly_deadline() const noexcept {
    auto earliest = never;
    for (const auto* h : deadly_)
        earliest = std::min(earliest, h->deadline());
    return earliest;
}

std::size_t core::unsettled() const noexcept {
    std::size_t leaving = 0;
    for (const auto& [name, t] : names_)
        leaving += t.talks.size() - t.talks_going();
    return partings_.size() + leaving;
}

void core::close(instant now, actions& out) {
    closed_ = true;
    std::vector<turnstile*> all;
    for (auto& [name, t] : names_)
        all.push_back(&t);
    for (auto* t : all) {
        while (!t->wishes.empty())
            answer(t->wishes.front(), errc::cancelled, "the client was closed", out);
        while (!t->grants.empty()) {
            auto& g = t->grants.front();
            while (!g.users.empty()) {
                const auto h = g.users.back();
                end_hold(*h, ending::released);
                if (!std::exchange(h->stopping, true))
                    out.emplace_back(tell_stop{h}); // somebody may be at work under it
            }
            part(g, nullptr, now - g.since, now, out);
        }
        settle(*t, now, out);
    }
}

void core::leave_nobody_waiting(actions& out) {
    for (auto& p : partings_)
        if (p.waits != nullptr)
            out.emplace_back(
                tell_goodbye{std::exchange(p.waits, nullptr), release_result::unknown});
    for (auto& p : partings_)
        agenda_.remove(p);
    parting_asked_.clear();
    retrying_.clear();
    partings_.clear();
}

} // namespace holdfast::detail
