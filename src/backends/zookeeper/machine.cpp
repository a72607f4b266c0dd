#include "backends/zookeeper/machine.hpp"
#include "lease/defect.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::zookeeper {
namespace {

using detail::defect;
using detail::has;

using namespace std::chrono_literals;

constexpr duration before_asking_again = 200ms;

[[nodiscard]] std::string one_line(std::string_view text) {
    std::string made{text};
    std::replace_if(
        made.begin(), made.end(), [](unsigned char c) { return c < ' '; }, ' ');
    return made;
}

// A session is ended by the leader, who learns from the others every half tick whom they have heard
// of; a write that was confirmed proves that it lived then, and the last it was told of may be a
// ping older. So it is believed for what is left of the time after a third and half a tick. A
// time-out has at least two ticks, and a tick hardly more than four seconds or a quarter of it.
[[nodiscard]] duration margin_of(duration granted, duration asked) {
    const auto most = granted / 4;
    const auto half_a_tick =
        granted > asked ? most : std::min<duration>(most, std::max<duration>(granted / 8, 2s));
    return granted / 3 + half_a_tick;
}

// Whether a beat was decided by the leader: who may not look at the root has been heard, too.
[[nodiscard]] bool is_of_the_leader(outcome how) {
    return how == outcome::ok || how == outcome::no_node || how == outcome::no_rights;
}

} // namespace

std::string note_of(const party& who) {
    return one_line(who.host) + '\t' + std::to_string(who.pid) + '\t' + one_line(who.purpose);
}

failure machine::refusal(const reply& r) {
    return {errc::backend_refused,
            applied::no,
            r.how == outcome::no_rights ? "the node's access list does not let us in" : r.words};
}

machine::machine(rules r) : rules_{std::move(r)}, last_bond_{rules_.first_bond - 1} {}

// ------------------------------------------------------------------------------------ the session

void machine::start(actions& out) { begin_session(out); }

void machine::begin_session(actions& out) {
    stop(silence_);
    session_ = {};
    session_.bond = bond_id{++last_bond_};
    out.emplace_back(open_session{session_.bond});
}

// Its nodes are gone, or will be in a moment: whatever was to be removed, is. Who still asks goes
// on in the next session.
void machine::end_session(actions& out) {
    const auto over = session_.bond;
    for (auto& [_, p] : std::exchange(pending_, {}))
        if (p.what == step::renewed) {
            p.others.push_back({.bond = over, .outcome = renewed::lost, .terms = {}});
            out.emplace_back(tell_renewed{p.when.ticket, std::move(p.others)});
        }
    watches_.clear();
    for (auto& [_, r] : std::exchange(removals_, {}))
        if (r.tell != nullptr && --r.tell->left == 0)
            settle(*r.tell, out);
    for (auto it = stands_.begin(); it != stands_.end();) {
        auto& s = it->second;
        if (s.waits != nullptr)
            settle(*s.waits, out);
        stop(s.before_own_watch);
        if (s.leaving || !s.asked) {
            stop(s.limit);
            it = stands_.erase(it);
            continue;
        }
        auto fresh = new_stand(s.what);
        fresh.order = s.order;
        fresh.join = s.join;
        fresh.asked = s.asked;
        fresh.limit = s.limit;
        fresh.sent = s.sent;
        s = std::move(fresh);
        ++it;
    }
    out.emplace_back(close_session{over});
    out.emplace_back(tell_bond_lost{over});
    begin_session(out);
}

void machine::connected(
    bond_id bond, std::int64_t session, duration granted, instant now, actions& out) {
    if (bond != session_.bond)
        return;
    session_.id = session;
    session_.granted = granted;
    session_.margin = margin_of(granted, rules_.session);
    session_.up = true;
    session_.read_only = false;
    stop(silence_);
    session_.why_down.clear();
    const bool again = std::exchange(session_.was_up, true);
    session_.folders.lost_sight(); // in case nobody has said that it was suspended
    out.emplace_back(tell_link{again ? link_state::reconnected : link_state::connected, {}});
    go_on(again ? whose_turn::everybody : whose_turn::the_first, now, out);
}

void machine::go_on(whose_turn which, instant now, actions& out) {
    const bool all = which != whose_turn::the_unanswered;
    for (const auto& [id, r] : removals_)
        if (!r.on_its_way)
            send_removal(id, now, out);
    std::map<std::uint64_t, nonce> turns; // who asked first comes first
    for (auto& [whose, s] : stands_)
        if (std::exchange(s.unanswered, false) || all)
            turns.emplace(s.order, whose);
    // What is found again was made long ago: without this, a grant of it could not be believed.
    if (!turns.empty() && which != whose_turn::the_first)
        beat_if_need_be(now, out);
    for (const auto& [_, whose] : turns) {
        auto* const s = find(whose);
        if (s == nullptr)
            continue;
        if (s->asked) { // it may have been shorter while there was no connection
            stop(s->limit);
            s->limit = set_timer(s->asked->answer_by, {.what = alarm::attempt, .whose = whose});
        }
        if (s->how == stand::is::held && !s->leaving) {
            if (s->own_watch == op_id{})
                watch_own(*s, now, out);
            if (s->unchecked)
                check(*s, now, out);
        } else if (s->queue.how != place::is::being_made && s->lease.how != place::is::being_made) {
            if (all) {
                s->seeking = {};
                s->watch = {};
            }
            proceed(*s, now, out);
        }
    }
}

// After a break, connected() sees to it. But a server may also be too busy to do what it was asked,
// and stay.
void machine::ask_again(instant now) {
    if (session_.up && !std::exchange(session_.asks_again, true) &&
        !has(defect::zookeeper_waits_for_a_break))
        set_timer(now + before_asking_again, {.what = alarm::ask_again, .bond = session_.bond});
}

void machine::suspended(bond_id bond, instant now, actions& out) {
    if (bond != session_.bond)
        return;
    if (session_.was_up && !silence_)
        silence_ = set_timer(now + session_.granted, {.what = alarm::silence});
    session_.read_only = false;
    session_.folders.lost_sight();
    if (std::exchange(session_.up, false))
        out.emplace_back(tell_link{link_state::suspended, {}});
}

void machine::read_only(bond_id bond, actions& out) {
    if (bond != session_.bond)
        return;
    session_.folders.lost_sight();
    stop(silence_);
    session_.up = false;
    session_.read_only = true;
    out.emplace_back(tell_link{link_state::read_only, "this server has no majority"});
}

void machine::expired(bond_id bond, actions& out) {
    if (bond != session_.bond)
        return;
    out.emplace_back(tell_link{link_state::lost, "the session has expired"});
    end_session(out);
}

void machine::forget(bond_id bond, actions& out) {
    if (bond == session_.bond)
        end_session(out);
}

void machine::unreachable(bond_id bond, const failure& why, instant now, actions& out) {
    if (bond != session_.bond || session_.up)
        return;
    session_.why_down = why.detail;
    std::vector<nonce> all;
    for (const auto& [whose, s] : stands_)
        if (s.asked && !s.sent)
            all.push_back(whose);
    for (const auto& whose : all)
        fail(*find(whose), why, now, out);
}

bond_terms machine::terms() const noexcept {
    return {session_.bond, session_.anchor, session_.granted, session_.margin};
}

void machine::confirmed(instant sent) noexcept {
    session_.anchor = std::max(session_.anchor, sent);
}

// Not for each of those who wait.
void machine::beat_if_need_be(instant now, actions& out) {
    const auto last = std::max(session_.anchor, session_.last_beat);
    if (now - last <= (session_.granted - session_.margin) / 3)
        return;
    session_.last_beat = now;
    send(beat{}, {.what = step::alive, .sent = now}, out);
}

void machine::renew(const call& c, const std::vector<bond_id>& bonds, instant now, actions& out) {
    std::vector<renewal_answer> known;
    bool ours = false;
    for (const auto bond : bonds) {
        if (bond == session_.bond)
            ours = true;
        else
            known.push_back({.bond = bond, .outcome = renewed::lost, .terms = {}});
    }
    if (ours && session_.up && has(defect::zookeeper_link_renews)) {
        confirmed(now);
        known.push_back({session_.bond, renewed::yes, terms()});
    } else if (ours && session_.up) {
        const auto op =
            send(beat{}, {.what = step::renewed, .sent = now, .when = c, .others = known}, out);
        set_timer(c.answer_by, {.what = alarm::renewal, .op = op});
        return;
    } else if (ours) {
        known.push_back({.bond = session_.bond, .outcome = renewed::unknown, .terms = {}});
    }
    out.emplace_back(tell_renewed{c.ticket, std::move(known)});
}

// -------------------------------------------------------------------------------------- the verbs

bool machine::is_permit(const claim& what) const noexcept {
    return what.mode == mode::permit ||
           (rules_.mutex_is_semaphore && what.mode == mode::exclusive &&
            what.kind != kind::read_write);
}

machine::stand machine::new_stand(const std::shared_ptr<const claim>& what) const {
    stand s;
    s.what = what;
    const auto path = path_of(rules_.root, what->name);
    if (is_permit(*what)) {
        s.queue.folder = path + "/locks";
        s.lease.folder = path + "/leases";
        s.lease.as = role::lease;
    } else {
        s.queue.folder = path;
        s.queue.as = what->mode == mode::shared       ? role::reader
                     : what->kind == kind::read_write ? role::writer
                                                      : role::lock;
    }
    return s;
}

void machine::attempt(const call& c,
                      const std::shared_ptr<const claim>& what,
                      joining join,
                      instant now,
                      actions& out) {
    if (const char* wrong = what_is_wrong_with_path(what->name)) {
        out.emplace_back(tell_attempted{c.ticket, failure{errc::bad_name, applied::no, wrong}});
        return;
    }
    const auto [found, is_new] = stands_.try_emplace(what->nonce);
    auto& s = found->second;
    if (is_new) {
        s = new_stand(what);
        s.order = ++last_stand_;
    }
    s.join = join;
    s.asked = c;
    s.sent = !is_new;
    s.tries = 0;
    s.leaving = false;
    auto by = c.answer_by;
    if (!session_.up)
        by = std::min(by, now + rules_.connect_timeout);
    stop(s.limit);
    s.limit = set_timer(by, {.what = alarm::attempt, .whose = what->nonce});
    if (s.how == stand::is::held)
        return answer(
            s,
            grant{.nonce = what->nonce,
                  .fence = holdfast::fence{what->mode == mode::permit ? 0 : s.queue.number},
                  .terms = terms()},
            out);
    if (session_.up && s.how != stand::is::working)
        proceed(s, now, out);
}

void machine::withdraw(const call& c,
                       const std::shared_ptr<const claim>& what,
                       instant now,
                       actions& out) {
    const auto waits = std::make_shared<goodbye>(goodbye{.when = c});
    if (auto* const s = find(what->nonce)) {
        leave(*s, waits, now, out);
    } else if (!wait_for_removals(what->nonce, waits)) {
        out.emplace_back(tell_withdrawn{c.ticket, applied::no});
        return;
    }
    if (!waits->answered)
        waits->limit = set_timer(c.answer_by, {.what = alarm::goodbye, .tell = waits});
}

void machine::release(const call& c,
                      const std::shared_ptr<const claim>& what,
                      const grant& given,
                      instant now,
                      actions& out) {
    const auto waits = std::make_shared<goodbye>(goodbye{.when = c, .is_release = true});
    const bool is_over = given.terms.bond != session_.bond;
    if (auto* const s = find(what->nonce); s != nullptr && !is_over) {
        leave(*s, waits, now, out);
    } else if (is_over || !wait_for_removals(what->nonce, waits)) {
        out.emplace_back(
            tell_released{c.ticket, is_over ? release_result::lost : release_result::released});
        return;
    }
    if (!waits->answered)
        waits->limit = set_timer(c.answer_by, {.what = alarm::goodbye, .tell = waits});
}

// --------------------------------------------------------------------------------- what comes in

void machine::replied(op_id op, const reply& r, instant now, actions& out) {
    auto taken = pending_.extract(static_cast<std::uint64_t>(op));
    if (taken.empty())
        return;
    auto& p = taken.mapped();
    if (has(defect::zookeeper_anchor_of_reply))
        p.sent = now;
    if (r.how != outcome::ok)
        watches_.erase(static_cast<std::uint64_t>(op)); // it was not set
    if (is_unanswered(r.how))
        ask_again(now);
    switch (p.what) {
    case step::alive:
        if (is_of_the_leader(r.how))
            confirmed(p.sent);
        else
            session_.last_beat = {};
        return;
    case step::folder:
        if (r.how == outcome::ok || r.how == outcome::exists)
            session_.folders.are_there(p.folder);
        return;
    case step::folder_watched:
        return session_.folders.is_watched(op, r.how == outcome::ok);
    case step::removed:
        return on_removed(p.removal, p, r, out);
    case step::renewed: {
        auto answers = p.others;
        const auto how = is_of_the_leader(r.how)  ? renewed::yes
                         : r.how == outcome::over ? renewed::lost
                                                  : renewed::unknown;
        if (how == renewed::yes)
            confirmed(p.sent);
        answers.push_back({.bond = session_.bond, .outcome = how, .terms = terms()});
        out.emplace_back(tell_renewed{p.when.ticket, std::move(answers)});
        return;
    }
    default:
        break;
    }
    auto* const s = find(p.whose);
    if (s == nullptr)
        return;
    if (is_unanswered(r.how))
        s->unanswered = true;
    place& at = p.folder == s->lease.folder ? s->lease : s->queue;
    switch (p.what) {
    case step::caught_up:
        if (r.how != outcome::ok) { // then the list that follows may be older than what is sought
            s->seeking = {};
            s->unanswered = true;
            ask_again(now);
        }
        return;
    case step::made:
        return on_made(*s, p, r, now, out);
    case step::listed:
        return on_listed(*s, op, r, now, out);
    case step::found:
        return on_found(*s, at, op, r, now, out);
    case step::verified:
        return on_verified(*s, at, op, r, now, out);
    case step::watching:
        return on_watching(*s, op, r, now, out);
    case step::leases:
        return on_leases(*s, op, r, now, out);
    case step::checked:
        return on_checked(*s, r, now, out);
    case step::own:
        return on_own(*s, op, r, out);
    default:
        return;
    }
}

machine::running machine::set_timer(instant when, timer t) {
    return timers_.emplace(when, std::move(t));
}

void machine::stop(running& one) {
    if (one)
        timers_.erase(*std::exchange(one, std::nullopt));
}

void machine::drop(stand& s) {
    stop(s.limit);
    stop(s.before_own_watch);
    stands_.erase(s.what->nonce);
}

instant machine::next_time() const noexcept {
    return timers_.empty() ? never : timers_.begin()->first;
}

void machine::on_time(instant now, actions& out) {
    while (!timers_.empty() && timers_.begin()->first <= now) {
        const auto t = std::move(timers_.extract(timers_.begin()).mapped());
        auto* const s = find(t.whose);
        switch (t.what) {
        case alarm::attempt:
            s->limit.reset();
            answer(*s,
                   failure{errc::backend_unavailable,
                           s->sent ? applied::maybe : applied::no,
                           s->sent                     ? "ZooKeeper did not answer in time"
                           : session_.why_down.empty() ? "there is no connection to ZooKeeper"
                                                       : session_.why_down},
                   out);
            if (!s->sent)
                drop(*s);
            break;
        case alarm::goodbye:
            t.tell->limit.reset();
            t.tell->answered = true;
            if (t.tell->is_release)
                out.emplace_back(tell_released{t.tell->when.ticket, release_result::unknown});
            else
                out.emplace_back(tell_withdrawn{t.tell->when.ticket, applied::maybe});
            break;
        case alarm::renewal:
            if (auto taken = pending_.extract(static_cast<std::uint64_t>(t.op)); !taken.empty()) {
                auto& p = taken.mapped();
                p.others.push_back(
                    {.bond = session_.bond, .outcome = renewed::unknown, .terms = {}});
                if (has(defect::zookeeper_unknown_renews)) {
                    confirmed(p.sent);
                    p.others.back() = {session_.bond, renewed::yes, terms()};
                }
                out.emplace_back(tell_renewed{p.when.ticket, std::move(p.others)});
            }
            break;
        case alarm::own_watch:
            s->before_own_watch.reset();
            watch_own(*s, now, out);
            break;
        case alarm::silence:
            silence_.reset();
            expired(session_.bond, out);
            break;
        case alarm::ask_again:
            if (t.bond != session_.bond)
                break;
            session_.asks_again = false;
            if (session_.up)
                go_on(whose_turn::the_unanswered, now, out);
            break;
        }
    }
}

} // namespace holdfast::zookeeper
