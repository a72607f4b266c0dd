#include "models/zookeeper.hpp"
#include "backends/zookeeper/names.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

namespace holdfast::models {
namespace {

using zookeeper::outcome;
using zookeeper::seen;
using namespace std::chrono_literals;

constexpr std::size_t ensemble = 3;

[[nodiscard]] std::string parent_of(const std::string& path) {
    const auto at = path.rfind('/');
    return at == 0 ? "/" : path.substr(0, at);
}
[[nodiscard]] std::string last_of(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

[[nodiscard]] bool is_read(const zookeeper::operation& op) {
    return std::holds_alternative<zookeeper::list>(op.what) ||
           std::holds_alternative<zookeeper::look>(op.what);
}

} // namespace

zookeeper_server::zookeeper_server(machine_room& room, const zookeeper_settings& s)
    : room_{room}, settings_{s}, members_(ensemble) {
    for (auto& m : members_)
        m.nodes["/"] = {};
}

void zookeeper_server::say(process_id to, saying what) {
    room_.send(to,
               reply{.what = reply::kind::spoken,
                     .says = std::make_shared<const saying>(std::move(what))});
}

void zookeeper_server::receive(const request& r) {
    const auto& said = *r.says;
    if (const auto* h = std::get_if<hello>(&said))
        return greet(r.from, *h);
    const auto found = connections_.find(r.from);
    if (found == connections_.end())
        return say(r.from, hung_up{});
    auto& c = found->second;
    const bool heard = !members_[c.at].cut_off;
    auto& s = sessions_.at(c.session);
    if (heard && !s.alive) {
        connections_.erase(found);
        return say(r.from, hung_up{});
    }
    if (heard)
        s.touched = room_.now();
    if (std::holds_alternative<ping>(said))
        return say(r.from, pong{});
    if (std::holds_alternative<farewell>(said)) {
        if (heard)
            end_session(c.session);
        return;
    }
    take(r.from, c, std::get<zookeeper::operation>(said));
}

// ------------------------------------------------------------------------------ on one connection

void zookeeper_server::greet(process_id from, const hello& h) {
    connections_.erase(from);
    auto at = room_.luck().below(ensemble);
    for (std::size_t who = 0; who < ensemble; ++who) // most often the one that lags most
        if (members_[who].slow && room_.luck().permille(700))
            at = who;
    auto& m = members_[at];
    if (m.cut_off) // nobody lets a session in without the leader: the client gives up by itself
        return;
    if (m.applied < static_cast<std::size_t>(h.seen))
        return say(from, hung_up{});
    const auto which = h.session != 0 ? h.session : begin_session(from);
    auto& s = sessions_.at(which);
    if (!s.alive)
        return say(from, session_over{});
    s.touched = room_.now();
    auto& c = connections_[from];
    c.session = which;
    c.at = at;
    say(from, welcome{which, settings_.session});
    const auto number = static_cast<std::int64_t>(m.applied);
    const auto again = [&](const std::string& path, bool children) {
        const auto found = m.nodes.find(path);
        if (found == m.nodes.end())
            say(from, watch_event{path, seen::deleted, number});
        else if (children && found->second.children_changed > h.seen)
            say(from, watch_event{path, seen::children_changed, number});
        else if (!children && found->second.changed > h.seen)
            say(from, watch_event{path, seen::changed, number});
        else
            (children ? c.child_watches : c.data_watches).insert(path);
    };
    for (const auto& path : h.data_watches)
        again(path, false);
    for (const auto& path : h.child_watches)
        again(path, true);
}

// Writes go to the leader at once; all is answered in the order of asking.
void zookeeper_server::take(process_id from, connection& c, const zookeeper::operation& op) {
    c.queue.push_back({op, {}, 0});
    auto& w = c.queue.back();
    const auto& m = members_[c.at];
    const bool dropped = m.busy && room_.luck().permille(400);
    if (!is_read(op) && !m.cut_off && !(dropped && room_.luck().permille(700)))
        ask_leader(c, w);
    if (dropped) {
        w.done = zookeeper::reply{.how = outcome::lost};
        w.behind = 0;
    }
    pump(from);
}

void zookeeper_server::ask_leader(connection& c, waiting& w) {
    w.done = execute(c.session, w.what);
    w.behind = log_.size();
}

void zookeeper_server::pump(process_id to) {
    const auto found = connections_.find(to);
    if (found == connections_.end())
        return;
    auto& c = found->second;
    const auto& m = members_[c.at];
    while (!c.queue.empty()) {
        auto& w = c.queue.front();
        if (is_read(w.what) && !w.done)
            w.done = read(c, w.what);
        if (!w.done || m.applied < w.behind)
            return;
        say(to, answer{w.what.id, std::move(*w.done), static_cast<std::int64_t>(m.applied)});
        c.queue.pop_front();
    }
}

zookeeper::reply zookeeper_server::read(connection& c, const zookeeper::operation& op) {
    const auto& nodes = members_[c.at].nodes;
    const auto* const l = std::get_if<zookeeper::list>(&op.what);
    const auto* const k = std::get_if<zookeeper::look>(&op.what);
    const auto& path = l != nullptr ? l->path : k->path;
    const auto found = nodes.find(path);
    if (found == nodes.end())
        return {.how = outcome::no_node};
    const auto& n = found->second;
    if (l != nullptr && l->watch)
        c.child_watches.insert(path);
    if (k != nullptr && k->watch)
        c.data_watches.insert(path);
    zookeeper::reply r{.how = outcome::ok, .facts = {n.created, n.owner, 0}};
    if (l != nullptr)
        r.children.assign(n.children.begin(), n.children.end());
    else
        r.data = n.data;
    return r;
}

// ------------------------------------------------------------------------------------- the leader

zookeeper::reply zookeeper_server::execute(session_number whose, const zookeeper::operation& op) {
    const auto& nodes = members_[0].nodes;
    if (!sessions_.at(whose).alive)
        return {.how = outcome::over};
    if (const auto* m = std::get_if<zookeeper::create>(&op.what))
        return make(whose, *m);
    if (const auto* r = std::get_if<zookeeper::remove>(&op.what)) {
        if (!nodes.contains(r->path))
            return {.how = outcome::no_node};
        commit({{change::kind::remove, r->path}});
    } else if (const auto* w = std::get_if<zookeeper::write>(&op.what)) {
        if (!nodes.contains(w->path))
            return {.how = outcome::no_node};
        commit({{change::kind::write, w->path, w->data}});
    }
    return {.how = outcome::ok}; // or it was a beat, or to catch up
}

zookeeper::reply zookeeper_server::make(session_number whose, const zookeeper::create& m) {
    const auto& nodes = members_[0].nodes;
    const auto above = nodes.find(parent_of(m.path));
    if (above == nodes.end())
        return {.how = outcome::no_node};
    const bool container = m.lives == zookeeper::lives::while_it_has_children;
    auto path = m.path;
    if (m.lives == zookeeper::lives::with_the_session_and_numbered) {
        std::array<char, 16> number{};
        std::snprintf(number.data(), number.size(), "%010d", above->second.made_below);
        path += number.data();
    }
    if (nodes.contains(path))
        return {.how = outcome::exists};
    commit({{change::kind::make, path, m.data, container ? 0 : whose, container}});
    return {.how = outcome::ok,
            .path = path,
            .facts = {static_cast<std::int64_t>(log_.size()), container ? 0 : whose, 0}};
}

// The leader has it at once, the others a little later.
void zookeeper_server::commit(changes what) {
    log_.push_back(std::move(what));
    backed_.clear();
    const auto number = log_.size();
    catch_up(0, number);
    for (std::size_t who = 1; who < ensemble; ++who)
        room_.call_after(room_.luck().between(0us, settings_.lag), [this, who, number] {
            if (!members_[who].cut_off && !members_[who].slow)
                catch_up(who, number);
        });
    const auto changed = log_.back();
    for (const auto& one : changed) {
        const auto folder = parent_of(one.path);
        see_who_holds(folder);
        if (one.what == change::kind::remove)
            reap_later(folder);
    }
}

void zookeeper_server::catch_up(std::size_t who, std::size_t up_to) {
    while (members_[who].applied < up_to)
        apply_next(who);
}

void zookeeper_server::apply_next(std::size_t who) {
    auto& m = members_[who];
    const auto what = log_[m.applied];
    ++m.applied;
    const auto number = static_cast<std::int64_t>(m.applied);
    apply(m.nodes, what, number);
    for (const auto& one : what)
        fire(who, one, number);
    for (auto& [to, c] : connections_)
        if (c.at == who)
            pump(to);
}

void zookeeper_server::apply(tree& nodes, const changes& what, std::int64_t number) {
    for (const auto& one : what) {
        auto& above = nodes.at(parent_of(one.path));
        switch (one.what) {
        case change::kind::make: {
            auto& n = nodes[one.path];
            n.data = one.data;
            n.created = n.changed = n.children_changed = number;
            n.owner = one.owner;
            n.is_container = one.is_container;
            sort(n, last_of(one.path));
            above.children.insert(last_of(one.path));
            above.had_children = true;
            ++above.made_below;
            above.children_changed = number;
            break;
        }
        case change::kind::remove:
            nodes.erase(one.path);
            above.children.erase(last_of(one.path));
            above.children_changed = number;
            break;
        case change::kind::write:
            nodes.at(one.path).data = one.data;
            nodes.at(one.path).changed = number;
            break;
        }
    }
}

// By what Curator sorts, written once more: the engine's own rule is what is tested.
void zookeeper_server::sort(node& n, const std::string& name) {
    n.whose = zookeeper::nonce_in(name);
    n.place = name.substr(name.find_last_of("-_") + 1);
    n.reads = name.find("__READ__") != std::string::npos;
}

void zookeeper_server::fire(std::size_t who, const change& one, std::int64_t number) {
    const auto above = parent_of(one.path);
    for (auto& [to, c] : connections_) {
        if (c.at != who)
            continue;
        if (one.what == change::kind::write && c.data_watches.erase(one.path) > 0)
            say(to, watch_event{one.path, seen::changed, number});
        if (one.what == change::kind::remove &&
            c.data_watches.erase(one.path) + c.child_watches.erase(one.path) > 0)
            say(to, watch_event{one.path, seen::deleted, number});
        if (one.what != change::kind::write && c.child_watches.erase(above) > 0)
            say(to, watch_event{above, seen::children_changed, number});
    }
}

void zookeeper_server::reap_later(const std::string& container) {
    const auto can_go = [this](const std::string& path) {
        const auto& nodes = members_[0].nodes;
        const auto found = nodes.find(path);
        return found != nodes.end() && found->second.is_container && found->second.had_children &&
               found->second.children.empty();
    };
    if (!settings_.reaps || !can_go(container))
        return;
    room_.call_after(room_.luck().between(0us, settings_.session), [this, can_go, container] {
        if (can_go(container))
            commit({{change::kind::remove, container}});
    });
}

// ------------------------------------------------------------------------------------- sessions

zookeeper_server::session_number zookeeper_server::begin_session(process_id whose) {
    const auto number = static_cast<session_number>(sessions_.size() + 1);
    auto& s = sessions_[number];
    s.of = whose;
    newest_[whose] = number;
    backed_.clear();
    s.touched = room_.now();
    const auto half_a_tick = std::min<duration>(settings_.session / 4, 2s);
    s.early = room_.luck().between(0us, settings_.session / 3 + half_a_tick);
    watch_session(number);
    return number;
}

void zookeeper_server::watch_session(session_number which) {
    const auto& s = sessions_.at(which);
    const auto left = s.touched + settings_.session - s.early - room_.now();
    if (left <= duration::zero())
        return end_session(which);
    room_.call_after(left, [this, which] {
        if (sessions_.at(which).alive)
            watch_session(which);
    });
}

void zookeeper_server::end_session(session_number which) {
    auto& s = sessions_.at(which);
    if (!std::exchange(s.alive, false))
        return;
    changes all;
    for (const auto& [path, n] : members_[0].nodes)
        if (n.owner == which) {
            all.push_back({change::kind::remove, path});
            const auto& queue = members_[0].nodes.at(parent_of(path)).children;
            if (!granted_.contains(n.created) && queue.size() > 1)
                room_.saw(sighting::predecessor_in_queue_died);
        }
    if (!all.empty())
        commit(std::move(all));
    const auto found = connections_.find(s.of);
    if (found == connections_.end() || found->second.session != which ||
        members_[found->second.at].cut_off)
        return;
    connections_.erase(found);
    if (room_.luck().permille(500))
        say(s.of, hung_up{});
}

// ------------------------------------------------------------------------------ what befalls them

void zookeeper_server::restart(memory) {
    auto& luck = room_.luck();
    const auto who = luck.below(ensemble);
    if (who == 0 || luck.permille(500))
        return hang_up_all(who);
    auto& m = members_[who];
    const bool ails[] = {luck.permille(500), luck.permille(300)};
    (ails[1] ? m.busy : ails[0] ? m.slow : m.cut_off) = true;
    room_.call_after(luck.between(0us, settings_.session), [this, who] {
        if (members_[who].cut_off && room_.luck().permille(500)) // it has noticed: no leader
            hang_up_all(who);
        join(who);
    });
}

void zookeeper_server::hang_up_all(std::size_t who) {
    const bool politely = room_.luck().permille(500);
    std::vector<process_id> all;
    for (const auto& [to, c] : connections_)
        if (c.at == who)
            all.push_back(to);
    for (const auto to : all) {
        connections_.erase(to);
        if (politely)
            say(to, hung_up{});
    }
}

void zookeeper_server::join(std::size_t who) {
    members_[who].cut_off = members_[who].slow = members_[who].busy = false;
    std::vector<process_id> all;
    for (auto& [to, c] : connections_)
        if (c.at == who)
            all.push_back(to);
    for (const auto to : all)
        sessions_.at(connections_.at(to).session).touched = room_.now(); // of whom it has heard
    for (const auto to : all)
        for (auto& w : connections_.at(to).queue)
            if (!is_read(w.what) && !w.done)
                ask_leader(connections_.at(to), w);
    catch_up(who, log_.size());
    for (const auto to : all)
        pump(to);
}

// ------------------------------------------------------------------------------------- the truth

bool zookeeper_server::is_permit(const claim& by) const {
    return by.mode == mode::permit || (settings_.mutex_is_semaphore && by.mode == mode::exclusive &&
                                       by.kind != kind::read_write);
}

// Leases: those that were made first. Readers: no writer before. Others: nobody before, but for a
// reading under the same write.
bool zookeeper_server::holds(const std::string& folder,
                             const node& mine,
                             std::uint32_t permits) const {
    const auto& nodes = members_[0].nodes;
    const bool lease = last_of(folder) == "leases";
    std::uint32_t before = 0;
    for (const auto& child : nodes.at(folder).children) {
        const auto& other = nodes.at(folder + '/' + child);
        if (lease)
            before += other.created < mine.created;
        else if (other.place < mine.place && !(mine.reads && other.reads))
            ++before;
    }
    return before < (lease ? permits : 1);
}

bool zookeeper_server::backs(const claim& by) {
    const auto [found, is_new] = backed_.try_emplace(by.nonce);
    if (is_new)
        found->second = find_backing(by);
    return found->second;
}

// Of an older session nothing counts: its process does not believe in it any more.
bool zookeeper_server::find_backing(const claim& by) const {
    const auto& nodes = members_[0].nodes;
    const auto folder = zookeeper::path_of("", by.name) + (is_permit(by) ? "/leases" : "");
    const auto found = nodes.find(folder);
    if (found == nodes.end())
        return false;
    return std::any_of(
        found->second.children.begin(), found->second.children.end(), [&](const auto& child) {
            const auto& n = nodes.at(folder + '/' + child);
            return n.whose == by.nonce && n.owner == newest_.at(sessions_.at(n.owner).of) &&
                   holds(folder, n, by.permits);
        });
}

void zookeeper_server::see_who_holds(const std::string& folder) {
    const auto& nodes = members_[0].nodes;
    const auto found = nodes.find(folder);
    if (folder == "/" || found == nodes.end() || last_of(folder) == "locks")
        return;
    const bool leases = last_of(folder) == "leases";
    const auto path = leases ? parent_of(folder) : folder;
    const bool is_name = path.find('/', 1) == std::string::npos;
    for (const auto& child : found->second.children) {
        const auto& n = nodes.at(folder + '/' + child);
        if (!n.whose || n.owner == 0 || n.reads || granted_.contains(n.created) ||
            !holds(folder, n, 1))
            continue;
        granted_.insert(n.created);
        claim what;
        what.name = is_name ? zookeeper::name_of_child(path.substr(1)) : path;
        what.nonce = *n.whose;
        room_.granted(what, sessions_.at(n.owner).of, fence{n.created}, 0);
    }
}

void zookeeper_server::take_away(const std::string& name) {
    const auto& nodes = members_[0].nodes;
    changes all;
    for (const auto* below : {"", "/leases"}) {
        const auto folder = zookeeper::path_of("", name) + below;
        const auto found = nodes.find(folder);
        if (found == nodes.end())
            continue;
        for (const auto& child : found->second.children)
            if (const auto& n = nodes.at(folder + '/' + child); n.whose && holds(folder, n, 1))
                all.push_back({change::kind::remove, folder + '/' + child});
    }
    if (!all.empty())
        commit(std::move(all));
}

// A session whose end was not heard of here takes its nodes along when its time is over.
std::size_t zookeeper_server::remembers(std::optional<process_id> whose) {
    std::size_t count = 0;
    for (const auto& [path, n] : members_[0].nodes)
        count += n.owner != 0 && (!whose || n.owner == newest_[*whose]);
    return count;
}

// ------------------------------------------------------------------------------------ for the
// story

namespace {

template <class... F> struct overloaded : F... { using F::operator()...; };

[[nodiscard]] std::string number(zookeeper::op_id id) {
    return " (" + std::to_string(static_cast<std::uint64_t>(id)) + ")";
}

} // namespace

std::string told(const words& w) {
    return std::visit(
        overloaded{
            [](const hello& h) {
                return "hello of session " + std::to_string(h.session) + " that has seen " +
                       std::to_string(h.seen);
            },
            [](const ping&) { return std::string{"ping"}; },
            [](const farewell&) { return std::string{"end of session"}; },
            [](const zookeeper::operation& op) {
                return std::visit(
                           overloaded{
                               [](const zookeeper::create& m) { return "make " + m.path; },
                               [](const zookeeper::list& l) {
                                   return "list " + l.path + (l.watch ? " and watch" : "");
                               },
                               [](const zookeeper::look& l) {
                                   return "look at " + l.path + (l.watch ? " and watch" : "");
                               },
                               [](const zookeeper::remove& r) { return "remove " + r.path; },
                               [](const zookeeper::write& x) { return "write " + x.path; },
                               [](const zookeeper::catch_up&) { return std::string{"catch up"}; },
                               [](const zookeeper::beat&) { return std::string{"beat"}; }},
                           op.what) +
                       number(op.id);
            }},
        w);
}

std::string told(const saying& s) {
    static constexpr const char* outcomes[] = {
        "ok", "no node", "exists", "no rights", "refused", "lost", "over"};
    static constexpr const char* events[] = {"deleted", "changed", "children changed"};
    return std::visit(
        overloaded{[](const welcome& w) { return "welcome, session " + std::to_string(w.session); },
                   [](const session_over&) { return std::string{"session is over"}; },
                   [](const hung_up&) { return std::string{"hung up"}; },
                   [](const pong&) { return std::string{"pong"}; },
                   [](const answer& a) {
                       auto text = outcomes[static_cast<std::size_t>(a.what.how)] + number(a.to) +
                                   (a.what.path.empty() ? "" : " " + a.what.path);
                       for (const auto& child : a.what.children)
                           text +=
                               " " + child.substr(0, 7) + ".." +
                               child.substr(child.size() - std::min<std::size_t>(child.size(), 15));
                       return text;
                   },
                   [](const watch_event& e) {
                       return e.path + " " + events[static_cast<std::size_t>(e.what)];
                   }},
        s);
}

} // namespace holdfast::models
