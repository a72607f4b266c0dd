#include "models/zookeeper_client.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::models {
namespace {

using zookeeper::outcome;
using zookeeper::seen;
using namespace std::chrono_literals;

template <class... F> struct overloaded : F... { using F::operator()...; };

[[nodiscard]] bool is_grant(const zookeeper::action& one) {
    if (const auto* a = std::get_if<zookeeper::tell_attempted>(&one))
        return std::holds_alternative<grant>(a->answer);
    return std::holds_alternative<zookeeper::tell_granted>(one);
}

[[nodiscard]] bool seeks(const zookeeper::action& one) {
    const auto* const op = std::get_if<zookeeper::operation>(&one);
    return op != nullptr && std::holds_alternative<zookeeper::catch_up>(op->what);
}

} // namespace

zookeeper_client::zookeeper_client(surroundings& around,
                                   process_id me,
                                   const zookeeper::rules& rules)
    : client_side{around, me}, timeout_{rules.session}, machine_{rules}, granted_{rules.session} {}

const capabilities& zookeeper_client::able() const noexcept {
    static constexpr capabilities what{
        .engine = "zookeeper",
        .reach = reach::network,
        .shared = true,
        .permits = true,
        .fair = true,
        .fences = fence_grade::consensus,
        .ttl = ttl_scope::session,
        .wake = wake_by::grant,
    };
    return what;
}

// ---------------------------------------------------------------------------- what the machine
// wants

template <class F> void zookeeper_client::decide(F f) {
    zookeeper::actions out;
    f(out);
    perform(out);
}

void zookeeper_client::start(backend_events& events) {
    client_side::start(events);
    decide([&](auto& out) { machine_.start(out); });
}
void zookeeper_client::attempt(const call& c,
                               const std::shared_ptr<const claim>& what,
                               joining join) {
    decide([&](auto& out) { machine_.attempt(c, what, join, around_.now(), out); });
}
void zookeeper_client::withdraw(const call& c, const std::shared_ptr<const claim>& what) {
    decide([&](auto& out) { machine_.withdraw(c, what, around_.now(), out); });
}
void zookeeper_client::release(const call& c,
                               const std::shared_ptr<const claim>& what,
                               const grant& given) {
    decide([&](auto& out) { machine_.release(c, what, given, around_.now(), out); });
}
void zookeeper_client::renew(const call& c, std::span<const bond_id> bonds) {
    decide([&](auto& out) { machine_.renew(c, {bonds.begin(), bonds.end()}, around_.now(), out); });
}
void zookeeper_client::forget(bond_id bond) {
    decide([&](auto& out) { machine_.forget(bond, out); });
}

// First what is said to the server, in its order; then those are told who may ask for more.
void zookeeper_client::perform(zookeeper::actions& wanted) {
    for (auto& one : wanted) {
        if (seeks(one))
            around_.saw(sighting::lost_making_looked_for);
        std::visit(overloaded{[&](const zookeeper::operation& op) { say(op); },
                              [&](const zookeeper::open_session& a) { open(a.bond); },
                              [&](const zookeeper::close_session&) { close(); },
                              [](const auto&) {}},
                   one);
    }
    arm();
    for (auto& one : wanted)
        std::visit(
            overloaded{[&](zookeeper::tell_attempted& a) {
                           events_->attempted(a.to, std::move(a.answer));
                       },
                       [&](zookeeper::tell_withdrawn& a) { events_->withdrawn(a.to, a.certainty); },
                       [&](zookeeper::tell_released& a) { events_->released(a.to, a.result); },
                       [&](zookeeper::tell_renewed& a) { events_->renewed(a.to, a.answers); },
                       [&](zookeeper::tell_granted& a) { events_->granted(a.whose, a.given); },
                       [&](zookeeper::tell_bond_lost& a) { events_->bond_lost(a.bond); },
                       [&](zookeeper::tell_grant_lost& a) { events_->grant_lost(a.whose); },
                       [&](zookeeper::tell_wanted& a) { events_->wanted(a.whose); },
                       [&](zookeeper::tell_link& a) { events_->link(a.state, a.detail); },
                       [&](zookeeper::tell_notice& a) { events_->notice(a.sentence); },
                       [](const auto&) {}},
            one);
}

void zookeeper_client::say(const zookeeper::operation& op) {
    if (outbox_.must_wait(op))
        outbox_.put(op);
    else
        transmit(op);
}

void zookeeper_client::transmit(const zookeeper::operation& op) {
    if (zookeeper::outbox::changes_something(op))
        outbox_.left();
    if (state_ != state::up) {
        unsent_.push_back(op);
        return;
    }
    sent_.push_back(op);
    send(op);
}

/// There is an answer to it, or never will be one.
void zookeeper_client::settle(const zookeeper::operation& op) {
    if (zookeeper::outbox::changes_something(op))
        outbox_.answered();
    while (outbox_.may_go()) {
        const auto leaving = outbox_.next();
        for (const auto& one : leaving.together)
            transmit(one);
        for (const auto& one : leaving.then)
            transmit(one);
    }
}

void zookeeper_client::open(bond_id bond) {
    bond_ = bond;
    session_ = seen_ = 0;
    connect();
}

void zookeeper_client::close() {
    if (state_ == state::up)
        send(farewell{});
    state_ = state::down;
    ++connection_;
    unsent_.clear();
    sent_.clear();
    outbox_ = {};
    data_watches_.clear();
    child_watches_.clear();
}

void zookeeper_client::arm() {
    const auto due = machine_.next_time();
    if (due >= armed_) // too early is early enough, as in the engine
        return;
    armed_ = due;
    ++alarm_;
    around_.call_at(std::max(due, around_.now()), [this, number = alarm_] {
        if (number == alarm_) // an older one came too early, or is late: it does no harm
            armed_ = never;
        decide([&](auto& out) { machine_.on_time(around_.now(), out); });
    });
}

// ------------------------------------------------------------------------------------ the
// connection

void zookeeper_client::connect() {
    state_ = state::connecting;
    const auto number = ++connection_;
    if (around_.refuses({.what = request::verb::spoken, .from = me_})) {
        around_.saw(sighting::engine_refused_at_once);
        lose_unsent();
        deliver([this, bond = bond_] {
            decide([&](auto& out) {
                machine_.unreachable(
                    bond, {errc::backend_unavailable, applied::no, "refused"}, around_.now(), out);
            });
        });
        if (number == connection_)
            connect_after(granted_ / 30);
        return;
    }
    around_.reconnect();
    hello h{.session = session_, .seen = seen_};
    for (const auto& [path, _] : data_watches_)
        h.data_watches.push_back(path);
    for (const auto& [path, _] : child_watches_)
        h.child_watches.push_back(path);
    send(std::move(h));
    around_.call_at(around_.now() + granted_ / 3, [this, number] {
        if (number != connection_ || state_ != state::connecting)
            return;
        lose_unsent();
        connect();
    });
}

void zookeeper_client::connect_after(duration pause) {
    state_ = state::down;
    around_.call_at(around_.now() + pause, [this, number = connection_] {
        if (number == connection_)
            connect();
    });
}

void zookeeper_client::broken() {
    state_ = state::down;
    ++connection_;
    ++breaks_;
    deliver(
        [this, bond = bond_] {
            decide([&](auto& out) { machine_.suspended(bond, around_.now(), out); });
        },
        100us * (breaks_ * 7 % 10));
    lose(std::exchange(sent_, {}));
    connect_after(100us * (breaks_ * 3 % 20));
}

void zookeeper_client::lose_unsent() { lose(std::exchange(unsent_, {})); }

void zookeeper_client::lose(const std::deque<zookeeper::operation>& all) {
    for (const auto& op : all)
        settle(op);
    for (const auto& op : all)
        deliver([this, id = op.id] {
            decide([&](auto& out) {
                machine_.replied(id, {.how = outcome::lost}, around_.now(), out);
            });
        });
}

void zookeeper_client::keep_alive() {
    const auto now = around_.now();
    if (now >= last_heard_ + granted_ * 2 / 3)
        return broken();
    if (now >= last_sent_ + granted_ / 3)
        send(ping{});
    around_.call_at(std::min(last_heard_ + granted_ * 2 / 3, last_sent_ + granted_ / 3),
                    [this, number = connection_] {
                        if (number == connection_ && state_ == state::up)
                            keep_alive();
                    });
}

void zookeeper_client::send(words what) {
    last_sent_ = around_.now();
    around_.send({.what = request::verb::spoken,
                  .from = me_,
                  .says = std::make_shared<const words>(std::move(what))});
}

// ---------------------------------------------------------------------------------- what comes in

void zookeeper_client::receive(const reply& r) {
    last_heard_ = around_.now();
    std::visit([&](const auto& what) { heard(what); }, *r.says);
}

void zookeeper_client::receive(const push& p) {
    if (p.what == push::kind::broken && state_ == state::up)
        broken();
}

void zookeeper_client::heard(const welcome& w) {
    if (state_ != state::connecting)
        return;
    state_ = state::up;
    session_ = w.session;
    granted_ = w.granted;
    for (const auto& op : std::exchange(unsent_, {})) {
        sent_.push_back(op);
        send(op);
    }
    keep_alive();
    deliver([this, w, bond = bond_] {
        decide(
            [&](auto& out) { machine_.connected(bond, w.session, w.granted, around_.now(), out); });
    });
}

void zookeeper_client::heard(const session_over&) {
    if (state_ != state::connecting)
        return;
    state_ = state::down;
    ++connection_;
    const auto unsent = std::exchange(unsent_, {});
    const auto tell = [&] {
        for (const auto& op : unsent)
            deliver([this, id = op.id] {
                decide([&](auto& out) {
                    machine_.replied(id, {.how = outcome::over}, around_.now(), out);
                });
            });
    };
    const bool replies_first = breaks_ % 2 == 0; // both have been seen
    if (replies_first)
        tell();
    deliver([this, bond = bond_] { decide([&](auto& out) { machine_.expired(bond, out); }); });
    if (!replies_first)
        tell();
}

void zookeeper_client::heard(const hung_up&) {
    if (state_ == state::up)
        return broken();
    if (state_ != state::connecting)
        return;
    lose_unsent();
    connect_after(granted_ / 60);
}

void zookeeper_client::heard(const answer& a) {
    seen_ = std::max(seen_, a.seen);
    if (sent_.empty() || sent_.front().id != a.to) // of a session that was closed
        return;
    const auto op = std::move(sent_.front());
    sent_.pop_front();
    settle(op);
    if (a.what.how == outcome::ok) {
        if (const auto* l = std::get_if<zookeeper::list>(&op.what); l != nullptr && l->watch)
            child_watches_[l->path].push_back(op.id);
        if (const auto* k = std::get_if<zookeeper::look>(&op.what); k != nullptr && k->watch)
            data_watches_[k->path].push_back(op.id);
    }
    const auto* const made = std::get_if<zookeeper::create>(&op.what);
    deliver([this,
             a,
             makes = made != nullptr &&
                     made->lives == zookeeper::lives::with_the_session_and_numbered] {
        decide([&](auto& out) {
            machine_.replied(a.to, a.what, around_.now(), out);
            if (makes && std::any_of(out.begin(), out.end(), is_grant))
                around_.saw(sighting::granted_by_a_number_alone);
        });
    });
}

void zookeeper_client::heard(const watch_event& e) {
    seen_ = std::max(seen_, e.seen);
    std::vector<zookeeper::op_id> all;
    const auto take = [&](auto& from) {
        if (auto found = from.extract(e.path); !found.empty())
            all.insert(all.end(), found.mapped().begin(), found.mapped().end());
    };
    if (e.what != seen::children_changed)
        take(data_watches_);
    if (e.what != seen::changed)
        take(child_watches_);
    for (const auto op : all)
        deliver([this, op, what = e.what] {
            decide([&](auto& out) {
                machine_.noticed(op, what, around_.now(), out);
                if (std::any_of(out.begin(), out.end(), is_grant))
                    around_.saw(sighting::granted_by_an_event_alone);
            });
        });
}

void zookeeper_client::deliver(std::function<void()> what, duration after) {
    inbox_.push_back(std::move(what));
    if (delayed_)
        return;
    if (after == duration::zero())
        return deliver_all();
    delayed_ = true;
    around_.call_at(around_.now() + after, [this] {
        delayed_ = false;
        deliver_all();
    });
}

void zookeeper_client::deliver_all() {
    while (!inbox_.empty() && !delayed_) {
        const auto next = std::move(inbox_.front());
        inbox_.pop_front();
        next();
    }
}

} // namespace holdfast::models
