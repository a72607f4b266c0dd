#include "backends/zookeeper/machine.hpp"
#include "lease/defect.hpp"
#include "runtime/assert.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::zookeeper {
namespace {

using detail::defect;
using detail::has;

using namespace std::chrono_literals;

constexpr std::uint32_t most_tries = 8;
constexpr duration before_own_watch = 100ms;
constexpr duration before_asking_again = 200ms;

[[nodiscard]] std::string one_line(std::string_view text) {
    std::string made{text};
    std::replace_if(
        made.begin(), made.end(), [](unsigned char c) { return c < ' '; }, ' ');
    return made;
}

[[nodiscard]] std::string_view last_part(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

[[nodiscard]] bool is_gone(outcome how) { return how == outcome::no_node; }

// Its session or its connection ended under it, or the server is too busy: connected(), expired()
// or ask_again() go on.
[[nodiscard]] bool is_unanswered(outcome how) {
    return how == outcome::lost || how == outcome::over;
}

[[nodiscard]] failure refusal(const reply& r) {
    return {errc::backend_refused,
            applied::no,
            r.how == outcome::no_rights ? "the node's access list does not let us in" : r.words};
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

} // namespace

std::string note_of(const party& who) {
    return one_line(who.host) + '\t' + std::to_string(who.pid) + '\t' + one_line(who.purpose);
}

machine::machine(rules r) : rules_{std::move(r)}, last_bond_{rules_.first_bond - 1} {}

// ------------------------------------------------------------------------------------ the session

void machine::start(actions& out) { begin_session(out); }

void machine::begin_session(actions& out) {
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
    const bool again = std::exchange(session_.was_up, true);
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
        send(beat{}, {.what = step::alive, .sent = now}, out);
    for (const auto& [_, whose] : turns) {
        auto* const s = find(whose);
        if (s == nullptr)
            continue;
        if (s->how == stand::is::held && !s->leaving) {
            if (s->own_watch == op_id{})
                watch_own(*s, now, out);
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

void machine::suspended(bond_id bond, actions& out) {
    if (bond != session_.bond)
        return;
    session_.read_only = false;
    if (std::exchange(session_.up, false))
        out.emplace_back(tell_link{link_state::suspended, {}});
}

void machine::read_only(bond_id bond, actions& out) {
    if (bond != session_.bond)
        return;
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

// ------------------------------------------------------------------------- a claim and its queue

machine::stand* machine::find(const nonce& whose) {
    const auto found = stands_.find(whose);
    return found == stands_.end() ? nullptr : &found->second;
}

op_id machine::send(decltype(operation::what) what, pending p, actions& out) {
    const op_id id{++last_op_};
    pending_.emplace(last_op_, std::move(p));
    out.emplace_back(operation{id, std::move(what)});
    return id;
}

/// The same, and its event is the one that the stand waits for.
void machine::watch_with(
    stand& s, decltype(operation::what) what, step then, instant now, actions& out) {
    s.watch = send(std::move(what), {.what = then, .whose = s.what->nonce, .sent = now}, out);
    watches_[static_cast<std::uint64_t>(s.watch)] = s.what->nonce;
}

// The next step, from what is known of its nodes.
void machine::proceed(stand& s, instant now, actions& out) {
    if (!session_.up)
        return;
    if (s.leaving)
        return clear_away(s, now, out);
    if (s.how == stand::is::held)
        return;
    s.how = stand::is::working;
    s.sent = true;
    place& first = s.lease.how == place::is::absent ? s.queue : s.lease;
    switch (first.how) {
    case place::is::absent:
        return s.what->within ? make_beside_own_write(s, now, out) : make_node(s, first, now, out);
    case place::is::being_made:
        return; // its reply will bring us back
    case place::is::in_doubt:
        return seek(s, first, now, out);
    case place::is::there:
        break;
    }
    if (s.what->within)
        return hold(s, false, now, out);
    if (&first == &s.lease)
        return watch_with(s, list{s.lease.folder, true}, step::leases, now, out);
    list_queue(s, now, out);
}

void machine::list_queue(stand& s, instant now, actions& out) {
    s.listing = send(
        list{s.queue.folder}, {.what = step::listed, .whose = s.what->nonce, .sent = now}, out);
}

// The folders, the node and the list, in one flight: a session answers in order, so the list has
// the node.
void machine::make_node(stand& s, place& p, instant now, actions& out) {
    const auto& whose = s.what->nonce;
    for (auto& folder : folders_to(p.folder))
        if (!session_.folders.contains(folder)) {
            create container{folder, {}, lives::while_it_has_children};
            send(std::move(container), {.what = step::folder, .folder = std::move(folder)}, out);
        }
    p.how = place::is::being_made;
    send(create{p.folder + '/' + unnumbered(whose, p.as),
                s.what->by != nullptr ? note_of(*s.what->by) : std::string{},
                lives::with_the_session_and_numbered},
         {.what = step::made, .whose = whose, .sent = now, .folder = p.folder},
         out);
    if (&p == &s.lease)
        watch_with(s, list{p.folder, true}, step::leases, now, out);
    else
        list_queue(s, now, out);
}

// A reader under its own write has the number of that write, so that no other writer comes between.
// Not under a mutex: who waits behind one does not expect a reader there.
void machine::make_beside_own_write(stand& s, instant now, actions& out) {
    const auto* const write = find(*s.what->within);
    const auto number = write != nullptr && write->how == stand::is::held && !write->leaving &&
                                write->queue.as == role::writer
                            ? read_ticket(write->queue.node)
                            : std::nullopt;
    if (!number)
        return fail(
            s,
            {errc::backend_refused, applied::no, "the write that it reads under is not held"},
            now,
            out);
    s.queue.how = place::is::being_made;
    send(create{s.queue.folder + '/' + unnumbered(s.what->nonce, role::reader) +
                    std::string{number->number},
                s.what->by != nullptr ? note_of(*s.what->by) : std::string{},
                lives::with_the_session},
         {.what = step::made, .whose = s.what->nonce, .sent = now, .folder = s.queue.folder},
         out);
}

void machine::on_made(stand& s, const pending& p, const reply& r, instant now, actions& out) {
    place& at = p.folder == s.lease.folder ? s.lease : s.queue;
    if (at.how != place::is::being_made)
        return;
    switch (r.how) {
    case outcome::ok:
        confirmed(p.sent);
        at.how = place::is::there;
        at.node = last_part(r.path);
        at.number = r.facts.created_by;
        break;
    case outcome::lost:
    case outcome::over:
        at.how = has(defect::zookeeper_makes_again) ? place::is::absent : place::is::in_doubt;
        break;
    case outcome::exists: // a reader's node, made by an earlier try of ours
        at.how = place::is::in_doubt;
        return proceed(s, now, out);
    case outcome::no_node: // the folder was empty, and its time had come
        at.how = place::is::absent;
        for (const auto& folder : folders_to(at.folder))
            session_.folders.erase(folder);
        if (s.what->within)
            return proceed(s, now, out);
        break;
    case outcome::no_rights:
    case outcome::refused:
        at.how = place::is::absent;
        if (!s.leaving)
            return fail(s, refusal(r), now, out);
        break;
    }
    if (s.leaving || (s.what->within && at.how == place::is::there))
        proceed(s, now, out);
}

void machine::start_over(stand& s, place& p, instant now, actions& out) {
    p.how = place::is::absent;
    if (++s.tries > most_tries)
        return fail(s,
                    {errc::backend_unavailable, applied::no, "its node vanishes again and again"},
                    now,
                    out);
    proceed(s, now, out);
}

void machine::on_listed(stand& s, op_id op, const reply& r, instant now, actions& out) {
    if (s.listing != op)
        return;
    s.listing = {};
    if (s.how != stand::is::working || s.leaving)
        return;
    if (is_unanswered(r.how) || s.queue.how == place::is::in_doubt)
        return; // connected() goes on from here
    if (s.queue.how != place::is::there || is_gone(r.how))
        return start_over(s, s.queue, now, out);
    if (r.how != outcome::ok)
        return fail(s, refusal(r), now, out);
    const auto with =
        is_permit(*s.what) || s.what->name.starts_with('/') ? company::curators : company::ours;
    auto st = stand_of(s.queue.node, r.children, with);
    switch (st.how) {
    case standing::is::missing:
        return start_over(s, s.queue, now, out);
    case standing::is::foreign:
        return fail(s,
                    {errc::bad_name,
                     applied::no,
                     "there is something else below that name than locks of this kind: '" +
                         st.other.substr(0, 100) + "'"},
                    now,
                    out);
    case standing::is::first:
        return its_turn(s, st.others_follow, now, out);
    case standing::is::behind:
        break;
    }
    if (s.join == joining::none)
        return refuse(s, st.before, now, out);
    s.how = stand::is::waiting;
    s.next = st.next;
    auto path = s.queue.folder + '/' + st.other;
    if (s.watch == op_id{} || s.watched != path) {
        s.watched = std::move(path);
        watch_with(s, look{s.watched, true}, step::watching, now, out);
    }
    refuse(s, st.before, now, out);
}

/// No. Who did not want to wait leaves.
void machine::refuse(stand& s, std::uint32_t before, instant now, actions& out) {
    if (s.asked)
        answer(s,
               contended{.retry_after = forever,
                         .holder = {},
                         .place = before,
                         .keeps_place =
                             s.join == joining::queue ? std::optional{terms()} : std::nullopt},
               out);
    if (s.join == joining::none)
        leave(s, nullptr, now, out);
}

void machine::on_watching(stand& s, op_id op, const reply& r, instant now, actions& out) {
    if (s.watch != op || r.how == outcome::ok)
        return;
    s.watch = {};
    if (is_unanswered(r.how) || s.how != stand::is::waiting) // looks again anyway
        return;
    if (is_gone(r.how))
        return proceed(s, now, out);
    fail(s, refusal(r), now, out);
}

void machine::its_turn(stand& s, bool others_follow, instant now, actions& out) {
    if (!is_permit(*s.what))
        return hold(s, others_follow, now, out);
    s.how = stand::is::working;
    s.watch = {};
    make_node(s, s.lease, now, out);
}

// Who is first in `locks` may add a lease, and waits there until there are few enough.
void machine::on_leases(stand& s, op_id op, const reply& r, instant now, actions& out) {
    if (s.leaving || s.watch != op || s.how == stand::is::held)
        return;
    if (is_unanswered(r.how) || s.lease.how == place::is::in_doubt)
        return;
    const auto& all = r.children;
    if (s.lease.how != place::is::there || is_gone(r.how) ||
        std::find(all.begin(), all.end(), s.lease.node) == all.end())
        return start_over(s, s.lease, now, out);
    if (r.how != outcome::ok)
        return fail(s, refusal(r), now, out);
    const auto most = s.what->mode == mode::permit ? s.what->permits : 1;
    if (all.size() <= most) {
        doom(s.queue.path(), s.what->nonce, nullptr, now, out);
        s.queue.how = place::is::absent;
        return hold(s, false, now, out);
    }
    if (s.join == joining::queue)
        s.how = stand::is::waiting;
    refuse(s, static_cast<std::uint32_t>(all.size() - most), now, out);
}

void machine::hold(stand& s, bool others_follow, instant now, actions& out) {
    s.how = stand::is::held;
    s.watch = {};
    if (is_permit(*s.what))
        s.queue.number = s.lease.number;
    const grant given{.nonce = s.what->nonce,
                      .fence = fence{s.what->mode == mode::permit ? 0 : s.queue.number},
                      .terms = terms(),
                      .since = s.asked ? instant{} : now, // pushed: when we heard of it
                      .passes = others_follow ? 8U : 64U};
    stop(s.before_own_watch);
    s.before_own_watch =
        set_timer(now + before_own_watch, {.what = alarm::own_watch, .whose = s.what->nonce});
    if (s.asked)
        answer(s, given, out);
    else
        out.emplace_back(tell_granted{s.what->nonce, given});
}

// The guarantee behind a grant that rests on an event alone.
void machine::on_checked(stand& s, const reply& r, instant now, actions& out) {
    if (r.how != outcome::ok || s.how != stand::is::held || s.leaving)
        return;
    const auto st = stand_of(s.queue.node, r.children, company::ours);
    if (st.how == standing::is::first)
        return;
    out.emplace_back(tell_notice{
        "the queue of '" + s.what->name +
        "' shows somebody before us whom it did not show before; the lock was given up"});
    out.emplace_back(tell_grant_lost{s.what->nonce});
    leave(s, nullptr, now, out);
}

void machine::answer(stand& s, attempt_answer what, actions& out) {
    out.emplace_back(tell_attempted{s.asked->ticket, std::move(what)});
    s.asked.reset();
    stop(s.limit);
}

/// What was made is taken back.
void machine::fail(stand& s, failure why, instant now, actions& out) {
    if (s.asked)
        answer(s, std::move(why), out);
    leave(s, nullptr, now, out);
}

// ------------------------------------------------------------------- what may have been made

// In the same session, but perhaps on another server: that one must not be behind what it was asked
// to do.
void machine::seek(stand& s, place& p, instant now, actions& out) {
    if (s.seeking != op_id{})
        return;
    send(catch_up{p.folder}, {.what = step::caught_up, .whose = s.what->nonce}, out);
    s.seeking = send(list{p.folder},
                     {.what = step::found, .whose = s.what->nonce, .sent = now, .folder = p.folder},
                     out);
}

void machine::on_found(stand& s, place& p, op_id op, const reply& r, instant now, actions& out) {
    if (s.seeking != op)
        return;
    s.seeking = {};
    if (is_unanswered(r.how) || p.how != place::is::in_doubt)
        return;
    if (r.how != outcome::ok && !is_gone(r.how)) {
        out.emplace_back(tell_notice{"what may be left of a request for '" + s.what->name +
                                     "' cannot be looked for: " + refusal(r).detail});
        p.how = place::is::absent;
        return fail(s, refusal(r), now, out);
    }
    const auto prefix = prefix_of(s.what->nonce);
    const auto being_removed = [&](const std::string& node) {
        const auto path = p.folder + '/' + node;
        return std::any_of(removals_.begin(), removals_.end(), [&](const auto& one) {
            return one.second.path == path;
        });
    };
    for (const auto& child : r.children) {
        const auto ticket = read_ticket(child);
        if (!child.starts_with(prefix) || !ticket || ticket->as != p.as || being_removed(child))
            continue;
        p.node = child;
        s.seeking =
            send(look{p.path()},
                 {.what = step::verified, .whose = s.what->nonce, .sent = now, .folder = p.folder},
                 out);
        return;
    }
    p.how = place::is::absent;
    proceed(s, now, out);
}

// A node of an earlier session is about to vanish, and never ours: behind it there may be another.
void machine::on_verified(stand& s, place& p, op_id op, const reply& r, instant now, actions& out) {
    if (s.seeking != op)
        return;
    s.seeking = {};
    if (is_unanswered(r.how) || p.how != place::is::in_doubt)
        return;
    if (r.how == outcome::ok &&
        (r.facts.session == session_.id || has(defect::zookeeper_older_session))) {
        p.how = place::is::there;
        p.number = r.facts.created_by;
        return proceed(s, now, out);
    }
    if (!is_gone(r.how))
        doom(p.path(), s.what->nonce, nullptr, now, out);
    if (++s.tries <= most_tries)
        return seek(s, p, now, out);
    p.how = place::is::absent;
    proceed(s, now, out);
}

// ----------------------------------------------------------------------- what becomes of a holder

// Not at once: most leases are short, and this would be one request more for each.
void machine::watch_own(stand& s, instant now, actions& out) {
    if (s.how != stand::is::held || s.leaving || !session_.up || s.own_watch != op_id{})
        return;
    const auto& held = is_permit(*s.what) ? s.lease : s.queue;
    s.own_watch = send(
        look{held.path(), true}, {.what = step::own, .whose = s.what->nonce, .sent = now}, out);
    watches_[static_cast<std::uint64_t>(s.own_watch)] = s.what->nonce;
}

void machine::on_own(stand& s, op_id op, const reply& r, actions& out) {
    if (s.own_watch != op || s.leaving)
        return;
    if (is_gone(r.how))
        return lose(s, out);
    if (r.how != outcome::ok)
        s.own_watch = {};
    else if (r.data == please_release)
        out.emplace_back(tell_wanted{s.what->nonce});
}

/// Somebody removed our node.
void machine::lose(stand& s, actions& out) {
    out.emplace_back(tell_grant_lost{s.what->nonce});
    drop(s);
}

void machine::noticed(op_id op, seen what, instant now, actions& out) {
    const auto found = watches_.find(static_cast<std::uint64_t>(op));
    if (found == watches_.end())
        return;
    const auto whose = found->second;
    watches_.erase(found);
    auto* const s = find(whose);
    if (s == nullptr || s->leaving)
        return;
    if (op == s->own_watch) {
        s->own_watch = {};
        if (what == seen::deleted)
            return lose(*s, out);
        return watch_own(*s, now, out);
    }
    if (op != s->watch)
        return;
    if (s->how != stand::is::waiting) { // looks again already
        s->watch = {};
        return;
    }
    if (what == seen::changed) // a note of his: still there
        return watch_with(*s, look{s->watched, true}, step::watching, now, out);
    s->watch = {};
    if (what != seen::deleted || !(s->next || has(defect::zookeeper_always_next)) ||
        s->lease.how != place::is::absent)
        return proceed(*s, now, out);
    const bool permit = is_permit(*s->what);
    its_turn(*s, false, now, out);
    if (!permit && !has(defect::zookeeper_always_next))
        send(list{s->queue.folder}, {.what = step::checked, .whose = whose, .sent = now}, out);
}

// --------------------------------------------------------------------------------------- leaving

void machine::leave(stand& s, std::shared_ptr<goodbye> waits, instant now, actions& out) {
    s.leaving = true;
    s.asked.reset();
    stop(s.limit);
    stop(s.before_own_watch);
    s.watch = {};
    if (waits != nullptr)
        s.waits = std::move(waits);
    clear_away(s, now, out);
}

// As soon as it is known what there is.
void machine::clear_away(stand& s, instant now, actions& out) {
    for (auto* const p : {&s.queue, &s.lease}) {
        if (p->how == place::is::being_made)
            return;
        if (p->how == place::is::in_doubt && !has(defect::zookeeper_leaves_orphans)) {
            if (session_.up)
                seek(s, *p, now, out);
            return;
        }
    }
    const auto waits = s.waits;
    std::vector<std::string> paths;
    for (const auto* const p : {&s.queue, &s.lease})
        if (p->how == place::is::there)
            paths.push_back(p->path());
    const auto whose = s.what->nonce;
    drop(s);
    if (waits != nullptr)
        waits->left = paths.size();
    for (auto& path : paths)
        doom(std::move(path), whose, waits, now, out);
    if (waits != nullptr) {
        if (!waits->is_release)
            static_cast<void>(wait_for_removals(whose, waits));
        if (waits->left == 0)
            settle(*waits, out);
    }
}

/// Those that nobody else waits for. False: there are none.
bool machine::wait_for_removals(const nonce& whose, const std::shared_ptr<goodbye>& waits) {
    for (auto& [_, r] : removals_)
        if (r.whose == whose && (r.tell == nullptr || r.tell->answered)) {
            r.tell = waits;
            ++waits->left;
        }
    return waits->left > 0;
}

void machine::doom(std::string path,
                   const nonce& whose,
                   std::shared_ptr<goodbye> tell,
                   instant now,
                   actions& out) {
    removals_.emplace(++last_removal_, removal{std::move(path), whose, std::move(tell)});
    if (session_.up)
        send_removal(last_removal_, now, out);
}

void machine::send_removal(std::uint64_t id, instant now, actions& out) {
    auto& r = removals_.at(id);
    r.on_its_way = true;
    send(
        remove{r.path}, {.what = step::removed, .whose = r.whose, .sent = now, .removal = id}, out);
}

void machine::on_removed(std::uint64_t id, const pending& p, const reply& r, actions& out) {
    const auto found = removals_.find(id);
    if (found == removals_.end())
        return;
    auto& gone = found->second;
    if (is_unanswered(r.how) && !has(defect::zookeeper_removes_once)) {
        gone.on_its_way = false;
        gone.tried_before = true;
        return;
    }
    if (r.how == outcome::ok)
        confirmed(p.sent);
    else if (!is_gone(r.how))
        out.emplace_back(tell_notice{"a node of ours cannot be removed: " + refusal(r).detail});
    if (const auto tell = gone.tell; tell != nullptr) {
        tell->was_there =
            tell->was_there || r.how == outcome::ok || (is_gone(r.how) && gone.tried_before);
        if (--tell->left == 0)
            settle(*tell, out);
    }
    removals_.erase(found);
}

void machine::settle(goodbye& g, actions& out) {
    if (std::exchange(g.answered, true))
        return;
    stop(g.limit);
    if (g.is_release)
        out.emplace_back(tell_released{
            g.when.ticket, g.was_there ? release_result::released : release_result::lost});
    else
        out.emplace_back(tell_withdrawn{g.when.ticket, applied::no});
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
        if (!is_unanswered(r.how))
            confirmed(p.sent);
        return;
    case step::folder:
        if (r.how == outcome::ok || r.how == outcome::exists)
            session_.folders.insert(p.folder);
        return;
    case step::removed:
        return on_removed(p.removal, p, r, out);
    case step::renewed: {
        auto answers = p.others;
        const auto how = r.how == outcome::lost   ? renewed::unknown
                         : r.how == outcome::over ? renewed::lost
                                                  : renewed::yes;
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
        if (is_unanswered(r.how)) // then the list that follows may be older than what is sought
            s->seeking = {};
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
                           s->sent ? "ZooKeeper did not answer in time"
                                   : "there is no connection to ZooKeeper"},
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
