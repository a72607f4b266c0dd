#include "backends/zookeeper/handle.hpp"
#include "backends/zookeeper/errors.hpp"
#include "runtime/assert.hpp"

#include <algorithm>
#include <csignal>
#include <pthread.h>
#include <utility>

#define THREADED
#include <zookeeper/zookeeper.h>

namespace holdfast::zookeeper {
namespace {

template <class... F> struct overloaded : F... { using F::operator()...; };

[[nodiscard]] node_facts facts_of(const Stat& s) { return {s.czxid, s.ephemeralOwner, s.ctime}; }

[[nodiscard]] reply answer_of(int rc) {
    reply r;
    r.how = outcome_of(rc);
    if (r.how != outcome::ok)
        r.words = zerror(rc);
    return r;
}

[[nodiscard]] std::string hosts_of(const options& how) {
    std::string all;
    for (const auto& one : how.servers) {
        const bool v6 = one.host.find(':') != std::string::npos;
        all.append(all.empty() ? "" : ",");
        all.append(v6 ? "[" + one.host + "]" : one.host)
            .append(":")
            .append(std::to_string(one.port));
    }
    return all;
}

void nothing_to_log(const char*) {}

constexpr std::chrono::milliseconds first_pause{250}, longest_pause{4000};

[[nodiscard]] failure not_let_in() {
    return {errc::backend_refused, applied::no, "ZooKeeper refused user or password"};
}

/// The threads that the C client starts inherit our mask: signals are the program's, not ours.
class signals_blocked {
public:
    signals_blocked() {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    signals_blocked(const signals_blocked&) = delete;
    signals_blocked& operator=(const signals_blocked&) = delete;
    ~signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    sigset_t before_;
};

[[nodiscard]] const ACL_vector* access_of(access who) {
    static constexpr char auth[] = "auth", world[] = "world", anyone[] = "anyone", none[] = "";
    static ACL both[] = {{ZOO_PERM_ALL, {const_cast<char*>(auth), const_cast<char*>(none)}},
                         {ZOO_PERM_READ, {const_cast<char*>(world), const_cast<char*>(anyone)}}};
    static const ACL_vector creator_or_read{2, both};
    switch (who) {
    case access::open:
        break;
    case access::creator:
        return &ZOO_CREATOR_ALL_ACL;
    case access::creator_or_read:
        return &creator_or_read;
    }
    return &ZOO_OPEN_ACL_UNSAFE;
}

[[nodiscard]] int mode_of(lives how) {
    switch (how) {
    case lives::while_it_has_children:
        return ZOO_CONTAINER;
    case lives::with_the_session:
        return ZOO_EPHEMERAL;
    case lives::with_the_session_and_numbered:
        break;
    }
    return ZOO_EPHEMERAL_SEQUENTIAL;
}

} // namespace

struct handle::callbacks {
    [[nodiscard]] static context* at(const void* data) {
        return const_cast<context*>(static_cast<const context*>(data));
    }

    static void session(zhandle_t* zh, int type, int state, const char*, void* me) {
        if (type == ZOO_SESSION_EVENT)
            static_cast<handle*>(me)->on_session(zh, state);
    }
    static void authenticated(int rc, const void* me) {
        auto& of = *const_cast<handle*>(static_cast<const handle*>(me));
        of.authenticated_ = rc == ZOK;
        if (rc == ZOK) {
            std::unique_lock lock{of.guard_};
            auto* const zh = of.zh_;
            lock.unlock();
            if (zh != nullptr)
                of.greet(zh);
        } else if (rc == ZAUTHFAILED) // the C client may hold a lock of its own now: we take none
            of.tell([&](listener& l) { l.unreachable(of.bond_, not_let_in()); });
    }

    // Sessions come and go under a watch without ending it: only what happens to its node does.
    static void watch(zhandle_t*, int type, int, const char*, void* data) {
        if (type == ZOO_SESSION_EVENT)
            return;
        auto* const c = at(data);
        auto& of = *c->of;
        const auto id = c->id;
        of.forget(c);
        if (type == ZOO_NOTWATCHING_EVENT)
            return;
        const auto what = type == ZOO_DELETED_EVENT ? seen::deleted
                          : type == ZOO_CHILD_EVENT ? seen::children_changed
                                                    : seen::changed;
        of.tell([&](listener& l) { l.noticed(id, what); });
    }

    static void made(int rc, const char* path, const Stat* s, const void* data) {
        auto r = answer_of(rc);
        if (rc == ZOK) {
            r.path = path;
            if (s != nullptr)
                r.facts = facts_of(*s);
        }
        at(data)->of->complete(at(data), std::move(r));
    }
    static void listed(int rc, const String_vector* all, const void* data) {
        auto r = answer_of(rc);
        if (rc == ZOK && all != nullptr)
            r.children.assign(all->data, all->data + all->count);
        at(data)->of->complete(at(data), std::move(r));
    }
    static void looked(int rc, const char* value, int length, const Stat* s, const void* data) {
        auto r = answer_of(rc);
        if (rc == ZOK) {
            if (value != nullptr && length > 0)
                r.data.assign(value, static_cast<std::size_t>(length));
            if (s != nullptr)
                r.facts = facts_of(*s);
        }
        at(data)->of->complete(at(data), std::move(r));
    }
    static void written(int rc, const Stat*, const void* data) {
        at(data)->of->complete(at(data), answer_of(rc));
    }
    static void done(int rc, const void* data) { at(data)->of->complete(at(data), answer_of(rc)); }
    static void done_together(int rc, const void* data);
    static void seen_together(int rc, const Stat* s, const void* data);
    static void caught_up(int rc, const char*, const void* data) { done(rc, data); }
};

struct handle::group {
    handle* of;
    std::vector<operation> all;
    std::vector<zoo_op_result_t> results{};
    std::vector<std::string> paths{}; ///< of what was made: the C client writes them here
};

void handle::callbacks::done_together(int rc, const void* data) {
    auto& g = *const_cast<group*>(static_cast<const group*>(data));
    g.of->on_done_together(g, rc);
}

void handle::callbacks::seen_together(int rc, const Stat* s, const void* data) {
    auto& g = *const_cast<group*>(static_cast<const group*>(data));
    auto r = answer_of(rc);
    if (rc == ZOK && s != nullptr)
        r.facts = facts_of(*s);
    g.of->on_seen_together(g, r);
}

handle::context::context(handle* h, op_id i, bool w) : of{h}, id{i}, is_watch{w} {}
handle::context::~context() = default;

handle::handle(const options& how, bond_id bond, listener& to)
    : how_{how}, bond_{bond}, listener_{&to} {}

handle::~handle() {
    HOLDFAST_ASSERT(closed_ || zh_ == nullptr, "a session is closed before it goes");
}

void handle::open() {
    auto pause = first_pause;
    while (!begin()) {
        tell([&](listener& l) {
            l.unreachable(
                bond_,
                {errc::backend_unavailable, applied::no, hosts_of(how_) + " cannot be looked up"});
        });
        std::unique_lock lock{guard_};
        ended_.wait_for(lock, pause, [this] { return closed_; });
        pause = std::min(2 * pause, longest_pause);
    }
}

/// True: there is nothing more to do.
bool handle::begin() {
    const std::lock_guard one_after_the_other{opening_};
    {
        const std::lock_guard lock{guard_};
        if (closed_)
            return true; // given up before it began
    }
    const signals_blocked quiet;
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(how_.session).count();
    auto* const made = zookeeper_init2(hosts_of(how_).c_str(),
                                       &callbacks::session,
                                       static_cast<int>(ms),
                                       nullptr,
                                       this,
                                       how_.read_only ? ZOO_READONLY : 0,
                                       &nothing_to_log);
    if (made == nullptr)
        return false;
    zoo_set_servers_resolution_delay(made, -1); // else it looks up their names before each poll
    const std::lock_guard lock{guard_};
    zh_ = made;
    return true;
}

template <class F> void handle::tell(F f) {
    const std::lock_guard lock{telling_};
    if (listener_ != nullptr)
        f(*listener_);
}

void handle::fall_silent() {
    const std::lock_guard lock{telling_};
    listener_ = nullptr;
}

void handle::close() {
    const std::lock_guard one_after_the_other{opening_};
    _zhandle* zh = nullptr;
    {
        const std::lock_guard lock{guard_};
        if (std::exchange(closed_, true))
            return;
        ended_.notify_all();
        zh = std::exchange(zh_, nullptr);
    }
    if (zh != nullptr)
        zookeeper_close(zh); // its threads have ended then: nobody uses the contexts any more
}

void handle::on_session(zhandle_t* zh, int state) {
    if (state == ZOO_CONNECTED_STATE) {
        {
            const std::lock_guard lock{guard_};
            if (closed_)
                return;
            zh_ = zh; // it may be faster than open()
            // Once: after a reconnection the C client says it again by itself.
            if (!how_.user.empty() && !authenticated_) {
                const auto who = how_.user + ':' + how_.password;
                zoo_add_auth(zh,
                             "digest",
                             who.data(),
                             static_cast<int>(who.size()),
                             &callbacks::authenticated,
                             this);
                return;
            }
        }
        return greet(zh);
    }
    tell([&](listener& l) {
        if (state == ZOO_EXPIRED_SESSION_STATE)
            l.expired(bond_);
        else if (state == ZOO_AUTH_FAILED_STATE)
            l.unreachable(bond_, not_let_in());
        else if (state == ZOO_READONLY_STATE)
            l.read_only(bond_);
        else
            l.suspended(bond_);
    });
}

void handle::greet(zhandle_t* zh) {
    const auto session = zoo_client_id(zh)->client_id;
    const auto granted = std::chrono::milliseconds{zoo_recv_timeout(zh)};
    tell([&](listener& l) { l.connected(bond_, session, granted); });
}

handle::context* handle::remember(op_id id, bool is_watch) {
    auto& slot = (is_watch ? watches_ : calls_)[static_cast<std::uint64_t>(id)];
    slot = std::make_unique<context>(this, id, is_watch);
    return slot.get();
}

void handle::forget(context* c) {
    const std::lock_guard lock{guard_};
    (c->is_watch ? watches_ : calls_).erase(static_cast<std::uint64_t>(c->id));
}

void handle::complete(context* c, reply&& r) {
    const auto id = c->id;
    std::vector<op_id> lost;
    {
        const std::lock_guard lock{guard_};
        if (c->changes_something) {
            outbox_.answered();
            lost = send_what_waits();
        }
        calls_.erase(static_cast<std::uint64_t>(id));
        if (r.how != outcome::ok) // then no watch was set
            watches_.erase(static_cast<std::uint64_t>(id));
    }
    tell([&](listener& l) { l.replied(id, std::move(r)); });
    lose(lost);
}

void handle::lose(const std::vector<op_id>& all) {
    for (const auto id : all)
        tell([&](listener& l) { l.replied(id, {}); });
}

bool handle::send(const operation& op) {
    const std::lock_guard lock{guard_};
    if (closed_ || zh_ == nullptr)
        return false;
    if (!outbox_.must_wait(op))
        return send_one(op);
    outbox_.put(op); // an answer that is on its way will see to it
    return true;
}

/// Returns what could not be sent.
std::vector<op_id> handle::send_what_waits() {
    std::vector<op_id> lost;
    while (outbox_.may_go() && !closed_) {
        const auto leaving = outbox_.next();
        // The C client (3.8.0) frees paths of ours if it is asked for several at once in a session
        // that is over; one by one it just says no.
        const bool together = leaving.together.size() > 1 && zoo_state(zh_) == ZOO_CONNECTED_STATE;
        if (!together || !send_together(leaving.together))
            send_each(leaving.together, lost);
        send_each(leaving.then, lost);
    }
    return lost;
}

void handle::send_each(const std::vector<operation>& all, std::vector<op_id>& lost) {
    for (const auto& op : all)
        if (!send_one(op))
            lost.push_back(op.id);
}

// ----------------------------------------------------------------------------- several at once

bool handle::send_together(const std::vector<operation>& all) {
    auto made = std::make_unique<group>(group{this, all});
    auto& g = *made;
    g.results.resize(g.all.size());
    g.paths.resize(g.all.size());
    std::vector<zoo_op_t> ops(g.all.size());
    for (std::size_t i = 0; i < g.all.size(); ++i) {
        if (const auto* m = std::get_if<create>(&g.all[i].what)) {
            constexpr std::size_t number = 11; // with a sign
            g.paths[i].resize(m->path.size() + number);
            zoo_create_op_init(&ops[i],
                               m->path.c_str(),
                               m->data.data(),
                               static_cast<int>(m->data.size()),
                               access_of(how_.access),
                               mode_of(m->lives),
                               g.paths[i].data(),
                               static_cast<int>(g.paths[i].size() + 1));
        } else {
            zoo_delete_op_init(&ops[i], std::get<remove>(g.all[i].what).path.c_str(), -1);
        }
    }
    const int rc = zoo_amulti(zh_,
                              static_cast<int>(ops.size()),
                              ops.data(),
                              g.results.data(),
                              &callbacks::done_together,
                              &g);
    if (rc != ZOK)
        return false;
    groups_.emplace(&g, std::move(made));
    outbox_.left();
    return true;
}

// If one of them was refused, none was done: the others are asked for one by one. If all were, then
// nobody says what the number of the transaction was; a look at one of the nodes does.
void handle::on_done_together(group& g, int rc) {
    const auto how = answer_of(rc);
    const bool all = how.how == outcome::ok;
    std::vector<std::pair<op_id, reply>> answers;
    std::vector<operation> again, made;
    for (std::size_t i = 0; i < g.all.size(); ++i) {
        g.paths[i].resize(std::string_view{g.paths[i].c_str()}.size());
        const auto err = g.results[i].err; // those behind the one that was refused: inconsistent
        const bool was_refused = err != ZOK && err != ZRUNTIMEINCONSISTENCY;
        if (all && !g.paths[i].empty())
            made.push_back(g.all[i]);
        else if (all || is_unanswered(how.how))
            answers.emplace_back(g.all[i].id, how);
        else if (was_refused)
            answers.emplace_back(g.all[i].id, answer_of(err));
        else
            again.push_back(g.all[i]);
    }
    std::vector<op_id> lost;
    {
        const std::lock_guard lock{guard_};
        outbox_.answered();
        send_each(again, lost);
        const auto one =
            std::find_if(g.paths.begin(), g.paths.end(), [](const auto& p) { return !p.empty(); });
        const bool looks = !made.empty() && zh_ != nullptr &&
                           zoo_aexists(zh_, one->c_str(), 0, &callbacks::seen_together, &g) == ZOK;
        auto more = send_what_waits();
        lost.insert(lost.end(), more.begin(), more.end());
        if (!looks) {
            for (const auto& op : made)
                lost.push_back(op.id);
            groups_.erase(&g);
        }
    }
    for (auto& [id, r] : answers)
        tell([&, id = id](listener& l) { l.replied(id, std::move(r)); });
    lose(lost);
}

void handle::on_seen_together(group& g, const reply& r) {
    for (std::size_t i = 0; i < g.all.size(); ++i) {
        if (g.paths[i].empty())
            continue;
        auto made = r.how == outcome::ok ? r : reply{};
        if (made.how == outcome::ok)
            made.path = g.paths[i];
        tell([&](listener& l) { l.replied(g.all[i].id, std::move(made)); });
    }
    const std::lock_guard lock{guard_};
    groups_.erase(&g);
}

// ----------------------------------------------------------------------------------- one by one

bool handle::send_one(const operation& op) {
    if (zh_ == nullptr)
        return false;
    auto* const c = remember(op.id, false);
    c->changes_something = outbox::changes_something(op);
    const auto watch_of = [&](bool wanted) { return wanted ? remember(op.id, true) : nullptr; };
    const auto fn_of = [](const context* w) { return w != nullptr ? &callbacks::watch : nullptr; };
    const int rc = std::visit(
        overloaded{[&](const create& m) {
                       return zoo_acreate2(zh_,
                                           m.path.c_str(),
                                           m.data.data(),
                                           static_cast<int>(m.data.size()),
                                           access_of(how_.access),
                                           mode_of(m.lives),
                                           &callbacks::made,
                                           c);
                   },
                   [&](const list& l) {
                       auto* const w = watch_of(l.watch);
                       return zoo_awget_children(
                           zh_, l.path.c_str(), fn_of(w), w, &callbacks::listed, c);
                   },
                   [&](const look& l) {
                       auto* const w = watch_of(l.watch);
                       return zoo_awget(zh_, l.path.c_str(), fn_of(w), w, &callbacks::looked, c);
                   },
                   [&](const remove& r) {
                       return zoo_adelete(zh_, r.path.c_str(), -1, &callbacks::done, c);
                   },
                   [&](const write& w) {
                       return zoo_aset(zh_,
                                       w.path.c_str(),
                                       w.data.data(),
                                       static_cast<int>(w.data.size()),
                                       -1,
                                       &callbacks::written,
                                       c);
                   },
                   [&](const catch_up& s) {
                       return zoo_async(zh_, s.path.c_str(), &callbacks::caught_up, c);
                   },
                   [&](const beat&) {
                       zoo_op_t check;
                       zoo_check_op_init(&check, "/", -1);
                       c->result = std::make_unique<zoo_op_result>();
                       return zoo_amulti(zh_, 1, &check, c->result.get(), &callbacks::done, c);
                   }},
        op.what);
    if (rc == ZOK) {
        if (c->changes_something)
            outbox_.left();
        return true;
    }
    calls_.erase(static_cast<std::uint64_t>(op.id));
    watches_.erase(static_cast<std::uint64_t>(op.id));
    return false;
}

} // namespace holdfast::zookeeper
