#include "simulation/process.hpp"
#include "lease/validity.hpp"
#include "quorum/engine.hpp"
#include "simulation/world.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::simulation {
namespace {

using detail::actions;
using models::sighting;
using namespace std::chrono_literals;

template <class... F> struct overloaded : F... { using F::operator()...; };

[[nodiscard]] std::shared_ptr<const party> whoever(process_id id) {
    return std::make_shared<party>(party{"simulated", static_cast<std::int64_t>(id), {}});
}

/// The production driver of a quorum, with this process's clock.
class simulated_quorum final : public quorum::engine {
public:
    simulated_quorum(process& p, std::vector<std::unique_ptr<backend>> members, std::size_t needed)
        : engine{std::move(members), needed, p.chance()}, process_{p} {}

private:
    [[nodiscard]] instant now() const override { return process_.now(); }
    void wake_at(instant when) override {
        process_.call_at(when, [this] { on_time(); });
    }
    process& process_;
};

} // namespace

instant doorway::now() const { return process_.now(); }
void doorway::call_at(instant when, std::function<void()> what) {
    process_.call_at(when, std::move(what));
}
void doorway::send(models::request r) { process_.send(server_, std::move(r)); }
void doorway::reconnect() { process_.reconnect(server_); }
bool doorway::refuses(const models::request& r) { return process_.refuses(server_, r); }
void doorway::saw(sighting s) { process_.saw(s); }

process::process(world& w, machine& m, process_id id, std::uint64_t generation)
    : world_{w}, machine_{m}, id_{id}, generation_{generation},
      chance_{models::chance::mix(w.o.seed * 1000 + static_cast<std::uint64_t>(id))},
      ledger_{has_sessions(w.o.engine) ? ttl_scope::session : ttl_scope::grant, w.seen},
      engine_{make_engine()}, core_{{engine_->able(), whoever(id), generation, true}, chance_},
      born_{w.time()} {
    engine_->start(*this);
}

process::~process() = default;

std::unique_ptr<backend> process::make_engine() {
    std::vector<std::unique_ptr<backend>> members;
    for (std::size_t i = 0; i < world_.engines(); ++i) {
        doors_.push_back(std::make_unique<doorway>(*this, i));
        auto client = world_.make_client(*doors_.back(), id_);
        clients_.push_back(client.get());
        members.push_back(std::move(client));
    }
    if (world_.o.engine != engine::quorum)
        return std::move(members.front());
    const auto needed = quorum::needed_of(members.size(), world_.o.may_forget);
    return std::make_unique<simulated_quorum>(*this, std::move(members), needed);
}

// -------------------------------------------------------------------------------- its own affairs

instant process::now() const {
    auto shown = machine_.boot.at(world_.time());
    if (detail::has(detail::defect::clock_stops_in_suspend))
        shown -= machine_.slept;
    return instant{shown};
}

bool process::believes(const detail::hold& h) const {
    return h.generation == generation_ && h.held_at(now());
}

void process::house(std::unique_ptr<application> who) { people_.push_back(std::move(who)); }

bool process::at_rest() const {
    return std::all_of(people_.begin(), people_.end(), [](const auto& p) { return p->at_rest(); });
}

void process::finish() {
    for (auto& p : people_)
        p->finish();
}

void process::acquire(asking& who) {
    ++causes_;
    who.wanted = who.what.name;
    who.wished_at = now();
    who.disturbed_before = disturbed_;
    who.order = ++asked_;
    world_.oracle.asks(*this, *who.wanted);
    decide([&](instant t, actions& out) {
        if (!core_.lines_up(who))
            core_.acquire(who, t, out);
    });
}

void process::cancel(asking& who) {
    ++causes_;
    decide([&](instant t, actions& out) { core_.cancel(who, errc::cancelled, t, out); });
}

void process::release(const std::shared_ptr<detail::hold>& h, leaving* who) {
    ++causes_;
    watch_passing(*h);
    decide([&](instant t, actions& out) { core_.release(h, who, t, out); });
}

void process::close() {
    closed_ = true;
    ++causes_;
    decide([&](instant t, actions& out) { core_.close(t, out); });
}

void process::later(duration by, std::function<void()> what) {
    world_.at(world_.time() + by, id_, lane::application, std::move(what));
}

// After a stop everything that has come meanwhile is there at once, and the lanes race.
void process::go_on() {
    stopped_ = false;
    if (stopped())
        return;
    for (;;) {
        std::array<lane, lanes> waiting{};
        std::size_t count = 0;
        for (std::size_t i = 0; i < lanes; ++i)
            if (!backlog_[i].empty())
                waiting[count++] = static_cast<lane>(i);
        if (count == 0)
            return;
        auto& queue = backlog_[static_cast<std::size_t>(waiting[world_.chances.below(count)])];
        world_.at(world_.time(), id_, queue.front().lane, std::move(queue.front().what));
        queue.pop_front();
    }
}

// --------------------------------------------------------------------------- deciding, performing

template <class F> void process::decide(F f) {
    actions out;
    f(now(), out);
    for (const auto& one : out)
        note_decision(one);
    check_work_is_bounded();
    arm();
    arm_kernel();
    const auto sleep = world_.fates.between_deciding_and_doing();
    if (sleep == duration::zero() || out.empty())
        return perform_all(out);
    later(sleep, [this, kept = std::make_shared<actions>(std::move(out))] { perform_all(*kept); });
}

void process::note_decision(const detail::action& one) {
    ledger_.decided(one);
    if (one.index() < 4)
        ++requests_;
    if (const auto* told = std::get_if<detail::tell_wish>(&one); told != nullptr && told->granted) {
        if (const auto* g = told->granted->from)
            ledger_.held(g->given.nonce, g->given.terms.bond);
        world_.oracle.began(*this, told->granted, *static_cast<asking*>(told->to));
    } else if (const auto* lost = std::get_if<detail::tell_lost>(&one)) {
        ledger_.lost(*world_.oracle.lost(*this, *lost->whom));
    } else if (const auto* seen = std::get_if<detail::tell_observer>(&one)) {
        if (seen->what == event::kind::renewed_late && !seen->detail.empty())
            saw(sighting::doubt_resolved);
    }
}

void process::arm() {
    const auto due = core_.next_due();
    if (due == armed_)
        return;
    armed_ = due;
    ++alarm_;
    if (due == never)
        return;
    auto shown = due.time_since_epoch();
    if (detail::has(detail::defect::clock_stops_in_suspend))
        shown += machine_.slept;
    const auto when = std::max(machine_.boot.when(shown), world_.time()) + world_.fates.of_timer();
    world_.at(when, id_, lane::timers, [this, number = alarm_] {
        if (number == alarm_)
            alarm();
    });
}

void process::alarm() {
    armed_ = never;
    decide([&](instant t, actions& out) {
        core_.on_time(t, out);
        if (core_.next_due() <= t)
            throw violation{"I8 work is bounded", "the core leaves undone what is due"};
    });
}

// The kernel's timer is not the process's: it fires while that is stopped, too.
void process::arm_kernel() {
    const auto deadline = core_.deadly_deadline();
    if (std::exchange(deadly_, deadline) == deadline)
        return;
    ++kernel_alarm_;
    if (deadline == never)
        return;
    const auto when = machine_.boot.when(deadline.time_since_epoch());
    world_.at(when, the_world, lane::timers, [&w = world_, id = id_, number = kernel_alarm_] {
        auto* const p = w.find(id);
        if (p == nullptr || p->kernel_alarm_ != number)
            return;
        w.seen(sighting::dead_man_killed);
        w.crash(*p);
    });
}

void process::perform_all(actions& wanted) {
    for (auto& one : wanted)
        perform(one);
}

void process::perform(detail::action& one) {
    std::visit(
        overloaded{[&](detail::do_attempt& a) {
                       expect_answer(a.call, "an attempt");
                       engine_->attempt(a.call, a.what, a.join);
                   },
                   [&](detail::do_withdraw& a) {
                       expect_answer(a.call, "a withdrawal");
                       engine_->withdraw(a.call, a.what);
                   },
                   [&](detail::do_release& a) {
                       expect_answer(a.call, "a release");
                       engine_->release(a.call, a.what, a.given);
                   },
                   [&](detail::do_renew& a) {
                       expect_answer(a.call, "a renewal");
                       engine_->renew(a.call, a.bonds);
                   },
                   [&](detail::do_forget& a) { engine_->forget(a.bond); },
                   [&](detail::tell_wish& a) { tell(a); },
                   [&](detail::tell_goodbye& a) { static_cast<leaving*>(a.to)->told(a.result); },
                   [&](detail::tell_stop& a) {
                       world_.oracle.told_stop(*this, *a.whom);
                       for (auto& p : people_)
                           p->told_stop(a.whom);
                   },
                   [](detail::tell_wanted&) {},
                   [&](detail::tell_lost& a) {
                       for (auto& p : people_)
                           p->told_lost(a.whom);
                   },
                   [&](detail::tell_observer&) {}},
        one);
}

void process::tell(detail::tell_wish& answer) {
    auto& who = *static_cast<asking*>(answer.to);
    check_in_time(who, answer);
    world_.oracle.answered(*this, *who.wanted);
    world_.story.mix(answer.granted ? static_cast<std::uint64_t>(answer.granted->fence.value())
                                    : static_cast<std::uint64_t>(answer.error.value()) + 1);
    if (world_.story.with_lines())
        world_.say(id_,
                   " told about ",
                   *who.wanted,
                   ": ",
                   answer.granted ? "granted"
                   : answer.error ? answer.error.message()
                                  : "contended");
    who.told(answer.error, std::move(answer.granted));
}

// ------------------------------------------------------------------------------ what the engine
// says

void process::engine_says(std::size_t server, const models::reply& r) {
    debts_.answered(server, r);
    clients_[server]->receive(r);
}
void process::engine_says(std::size_t server, const models::push& p) {
    clients_[server]->receive(p);
}

void process::attempted(ticket number, attempt_answer answer) {
    unanswered_.erase(number);
    ++causes_;
    ledger_.attempted(number, answer);
    decide([&](instant t, actions& out) {
        core_.attempted(number, answer, t, out);
        if (const auto* yes = std::get_if<grant>(&answer)) {
            deadlines_[yes->terms.bond] = detail::deadline_of(yes->terms);
            watch_grant(yes->nonce, out);
        }
    });
}

void process::withdrawn(ticket number, applied certainty) {
    unanswered_.erase(number);
    ledger_.withdrawn(number, certainty);
    decide([&](instant t, actions& out) { core_.withdrawn(number, certainty, t, out); });
}

void process::released(ticket number, release_result result) {
    unanswered_.erase(number);
    ledger_.released(number, result);
    decide([&](instant t, actions& out) { core_.released(number, result, t, out); });
}

void process::renewed(ticket number, std::span<const renewal_answer> answers) {
    unanswered_.erase(number);
    for (const auto& one : answers)
        watch_renewal(one);
    decide([&](instant t, actions& out) { core_.renewed(answers, t, out); });
}

void process::woken(const nonce& whose) {
    ++causes_;
    decide([&](instant t, actions& out) { core_.woken(whose, t, out); });
}

void process::granted(const nonce& whose, const grant& given) {
    ++causes_;
    ledger_.pushed(whose);
    decide([&](instant t, actions& out) { core_.granted(whose, given, t, out); });
}

void process::bond_lost(bond_id bond) {
    ++causes_;
    decide([&](instant t, actions& out) { core_.bond_lost(bond, t, out); });
}

void process::grant_lost(const nonce& whose) {
    saw(sighting::operator_took_a_lease);
    decide([&](instant t, actions& out) { core_.grant_lost(whose, t, out); });
    ledger_.taken(whose);
}

void process::wanted(const nonce& whose) {
    world_.oracle.wanted(id_, whose);
    decide([&](instant, actions& out) { core_.wanted(whose, out); });
}

// ------------------------------------------------------------------------------------ surroundings

void process::call_at(instant when, std::function<void()> what) {
    auto shown = when.time_since_epoch();
    if (detail::has(detail::defect::clock_stops_in_suspend))
        shown += machine_.slept;
    world_.at(machine_.boot.when(shown), id_, lane::timers, std::move(what));
}

void process::send(std::size_t server, models::request r) {
    if (world_.o.engine == engine::quorum)
        debts_.sent(server, r, disturbed_);
    world_.network(server).up(std::move(r));
}
void process::reconnect(std::size_t server) { world_.network(server).reconnect(id_); }
bool process::refuses(std::size_t server, const models::request& r) {
    if (!world_.fates.refuses())
        return false;
    if (world_.o.engine == engine::quorum)
        debts_.refused(server, r);
    return true;
}
void process::saw(sighting s) { world_.seen(s); }

// ------------------------------------------------------------------------------ sights, and checks

void process::watch_passing(const detail::hold& h) {
    const auto* const g = h.from;
    if (g == nullptr || g->users.size() != 1 || h.entries > 1 || g->at.wishes.empty() ||
        g->at.fair() || g->at.like.mode == mode::shared || !h.held_at(now()))
        return;
    if (g->wanted)
        saw(sighting::pass_refused_because_wanted);
    else if (!g->at.may_pass(*g, now()))
        saw(sighting::pass_refused_by_bound);
}

// What a grant led to at once, if not to a lease.
void process::watch_grant(const nonce& whose, const actions& out) {
    for (const auto& one : out) {
        if (const auto* w = std::get_if<detail::do_withdraw>(&one);
            w != nullptr && w->what->nonce == whose)
            saw(sighting::grant_raced_with_giving_up);
        if (const auto* r = std::get_if<detail::do_release>(&one);
            r != nullptr && r->what->nonce == whose)
            saw(sighting::grant_came_too_late);
    }
}

void process::watch_renewal(const renewal_answer& one) {
    if (one.outcome != renewed::yes)
        return;
    const auto before = std::exchange(deadlines_[one.bond], detail::deadline_of(one.terms));
    if (now() < before && before - now() < one.terms.ttl / 6)
        saw(sighting::renewed_in_the_last_sixth);
}

// The engine's own timer comes first: it was set before.
void process::expect_answer(const call& c, const char* to_what) {
    unanswered_.insert(c.ticket);
    call_at(std::max(c.answer_by, now()) + 1ms, [this, number = c.ticket, to_what] {
        if (unanswered_.contains(number))
            throw violation{"seam", to_what, " was not answered in time"};
    });
}

// Each thing that happens may cause a few requests, and each second a few more: no busy loops.
void process::check_work_is_bounded() {
    const auto seconds = static_cast<std::uint64_t>((world_.time() - born_) / 1s);
    if (requests_ > 100 + 4 * causes_ + 1000 * seconds)
        throw violation{"I8 work is bounded", requests_, " requests from ", causes_, " causes"};
}

void process::check_in_time(const asking& who, const detail::tell_wish& answer) {
    const auto& o = who.what.options;
    if (o.wait == forever || who.disturbed_before != disturbed_)
        return;
    const auto took = now() - who.wished_at;
    auto limit = std::max(o.wait, duration::zero()) + detail::request_limit(o.ttl) + 10ms;
    if (who.asks_once() && !o.retry.is_default()) // six retries at most, with pauses of ttl/4
        limit += 6 * (detail::request_limit(o.ttl) + o.ttl / 4);
    if (took > limit)
        throw violation{"waiting is bounded",
                        "a wish of ",
                        id_,
                        " for ",
                        *who.wanted,
                        " was answered after ",
                        took / 1us,
                        " us instead of ",
                        limit / 1us,
                        (answer.granted ? ", granted" : ", not granted")};
}

} // namespace holdfast::simulation
