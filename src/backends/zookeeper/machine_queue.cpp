// A claim's way: its node, its place in the queue, what it holds.

#include "backends/zookeeper/machine.hpp"
#include "lease/defect.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::zookeeper {
namespace {

using detail::defect;
using detail::has;
using namespace std::chrono_literals;

constexpr std::uint32_t most_tries = 8;
constexpr duration before_own_watch = 100ms;

[[nodiscard]] std::string_view last_part(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

} // namespace

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
    // It was made long ago, perhaps, and nobody may have renewed anything since: a grant of it
    // would not be believed for long.
    beat_if_need_be(now, out);
    if (&first == &s.lease)
        return watch_with(s, list{s.lease.folder, true}, step::leases, now, out);
    list_queue(s, now, out);
}

void machine::list_queue(stand& s, instant now, actions& out) {
    s.listing = send(
        list{s.queue.folder}, {.what = step::listed, .whose = s.what->nonce, .sent = now}, out);
}

// The folders, the node and the list, in one flight: a session answers in order, so the list has
// the node. But where nobody else is expected, the number of the node will tell.
void machine::make_node(stand& s, place& p, instant now, actions& out) {
    const auto& whose = s.what->nonce;
    for (auto& folder : folders_to(p.folder))
        if (!session_.folders.knows(folder)) {
            create container{folder, {}, lives::while_it_has_children};
            send(std::move(container), {.what = step::folder, .folder = std::move(folder)}, out);
        }
    p.how = place::is::being_made;
    const bool number_will_tell =
        &p == &s.queue && may_prove_it_is_alone(s) && session_.folders.expects_nobody(p.folder);
    send(create{p.folder + '/' + unnumbered(whose, p.as),
                s.what->by != nullptr ? note_of(*s.what->by) : std::string{},
                lives::with_the_session_and_numbered,
                number_will_tell},
         {.what = step::made, .whose = whose, .sent = now, .folder = p.folder},
         out);
    if (&p == &s.lease)
        watch_with(s, list{p.folder, true}, step::leases, now, out);
    else if (!number_will_tell)
        list_queue(s, now, out);
}

bool machine::may_prove_it_is_alone(const stand& s) const noexcept {
    return s.what->mode == mode::exclusive && !is_permit(*s.what);
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
            session_.folders.may_be_gone(folder);
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
        return proceed(s, now, out);
    if (&at == &s.lease || s.listing != op_id{} || at.how == place::is::in_doubt)
        return; // the list will tell; or what was made is looked for
    if (at.how == place::is::absent)
        return start_over(s, at, now, out);
    if (session_.folders.proves_first(at.path()))
        return is_first(s, false, now, out);
    session_.folders.is_surprised(at.folder);
    list_queue(s, now, out);
}

/// As a list or its number has shown.
void machine::is_first(stand& s, bool others_follow, instant now, actions& out) {
    if (may_prove_it_is_alone(s) && session_.folders.is_first(s.queue.path())) {
        const auto op = send(look{s.queue.folder, true}, {.what = step::folder_watched}, out);
        session_.folders.asked_to_watch(s.queue.folder, op);
    }
    its_turn(s, others_follow, now, out);
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
        return is_first(s, st.others_follow, now, out);
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
    if (r.how != outcome::ok && !is_gone(r.how))
        return fail(s, refusal(r), now, out);
    const auto& all = r.children;
    if (s.lease.how != place::is::there || is_gone(r.how) ||
        std::find(all.begin(), all.end(), s.lease.node) == all.end())
        return start_over(s, s.lease, now, out);
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
void machine::check(stand& s, instant now, actions& out) {
    s.unchecked = true;
    send(list{s.queue.folder}, {.what = step::checked, .whose = s.what->nonce, .sent = now}, out);
}

void machine::on_checked(stand& s, const reply& r, instant now, actions& out) {
    if (r.how != outcome::ok || s.how != stand::is::held || s.leaving)
        return;
    s.unchecked = false;
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
    if (session_.folders.noticed(op, what))
        return;
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
        check(*s, now, out);
}

} // namespace holdfast::zookeeper
