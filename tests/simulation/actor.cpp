#include "simulation/actor.hpp"
#include "lease/defect.hpp"
#include "simulation/world.hpp"

#include <boost/system/errc.hpp>

#include <algorithm>
#include <utility>

namespace holdfast::simulation {

using models::sighting;
using namespace std::chrono_literals;

struct actor::question final : asking {
    question(actor& a, purpose p) : who{a}, why{p} {}
    void told(error_code error, std::shared_ptr<detail::hold> granted) override {
        who.answered(*this, error, std::move(granted));
    }
    actor& who;
    const purpose why;
};

struct actor::farewell final : leaving {
    explicit farewell(actor& a) : who{a} {}
    void told(release_result) override {
        auto& a = who;
        std::erase_if(a.farewells_, [&](const auto& f) { return f.get() == this; });
        a.think_again_if_free();
    }
    actor& who;
};

actor::actor(process& home, owner_id me) : home_{home}, world_{home.around()}, me_{me} { think(); }

actor::~actor() = default;

bool actor::at_rest() const {
    return questions_.empty() && farewells_.empty() && !held_ && more_.empty();
}

// ------------------------------------------------------------------------------------------ asking

void actor::think() {
    thinking_ = true;
    home_.later(world_.chances.between(10us, world_.o.think * 2), [this] {
        thinking_ = false;
        if (!finishing_)
            ask_for_something();
    });
}

void actor::think_again_if_free() {
    if (at_rest() && !thinking_)
        think();
}

detail::request actor::draw_request() {
    auto& luck = world_.chances;
    const auto& o = world_.o;
    const auto& name = o.names[luck.below(o.names.size())];
    detail::request r;
    r.name = std::make_shared<const std::string>(name.name);
    r.permits = name.permits;
    if (name.family != family::semaphore && luck.permille(o.owner_permille))
        r.owner = me_;
    if (name.family == family::semaphore) {
        r.kind = kind::permits;
        r.mode = mode::permit;
    } else if (name.family == family::read_write) {
        r.kind = kind::read_write;
        r.mode = luck.permille(600) ? mode::shared : mode::exclusive;
    } else if (r.owner != owner_id::nobody && luck.permille(500)) {
        r.kind = kind::reentrant;
    }

    auto& a = r.options;
    a.ttl = luck.permille(900) ? o.ttl : o.ttl * 2;
    a.lock_delay = name.lock_delay;
    if (luck.permille(o.try_permille))
        a.wait = duration::zero();
    else if (luck.permille(o.tiny_wait_permille))
        a.wait = luck.between(1us, 20ms);
    else if (luck.permille(o.timed_permille))
        a.wait = luck.between(o.ttl / 10, o.ttl * 3);
    a.order = luck.permille(o.fair_permille) ? queueing::fair : queueing::plain;
    if (a.order == queueing::plain && luck.permille(o.spin_permille))
        a.waiting = waiting::spin(1ms, o.ttl / 4);
    if (luck.permille(o.policy_permille))
        a.retry = luck.permille(500) ? retry::times(3, o.ttl / 20)
                                     : retry::bounded_exponential(1ms, o.ttl / 4, 6);
    a.renew = !luck.permille(o.explicit_permille);
    if (luck.permille(o.max_hold_permille))
        a.max_hold = luck.between(o.ttl / 10, o.ttl * 2);
    if (luck.permille(o.deadly_permille))
        a.on_deadline = on_deadline::kill;
    return r;
}

void actor::ask_for_something() {
    if (home_.closed())
        return;
    ++turn_;
    waits_for_vault_ = false; // an effect of an earlier turn is no longer ours
    wants_to_leave_ = false;
    stubborn_ = world_.chances.permille(world_.o.stubborn_permille);
    asked_ = draw_request();
    ask(asked_, purpose::main);
}

void actor::ask(detail::request what, purpose why) {
    auto& q = *questions_.emplace_back(std::make_unique<question>(*this, why));
    q.what = std::move(what);
    if (world_.chances.permille(world_.o.cancel_permille))
        home_.later(world_.chances.between(10us, world_.o.ttl), [this, whom = &q, turn = turn_] {
            if (turn == turn_ && std::any_of(questions_.begin(),
                                             questions_.end(),
                                             [&](const auto& one) { return one.get() == whom; }))
                home_.cancel(*whom);
        });
    home_.acquire(q);
}

void actor::answered(question& q, error_code error, std::shared_ptr<detail::hold> granted) {
    const auto found = std::find_if(
        questions_.begin(), questions_.end(), [&](const auto& one) { return one.get() == &q; });
    if (found == questions_.end())
        throw violation{"one answer", "a wish was answered twice"};
    const auto done = std::move(*found); // it ends here, before anything else is asked
    questions_.erase(found);
    const bool deadlock = error == boost::system::errc::resource_deadlock_would_occur;
    if (!granted) {
        if (done->why == purpose::again && done->what.mode == mode::exclusive &&
            asked_.mode == mode::shared && deadlock)
            world_.seen(sighting::upgrade_refused);
        if (!done->what.options.retry.is_default() &&
            (error == errc::backend_unavailable || error == errc::outcome_unknown))
            world_.seen(sighting::retry_policy_gave_up);
        return think_again_if_free();
    }
    if (done->what.options.waiting.spins && !done->asks_once())
        world_.seen(sighting::spinner_was_served);
    if (done->why == purpose::main)
        return begin_to_hold(granted);
    more_.push_back(std::move(granted));
    if (wants_to_leave_)
        leave_when_done();
}

// ----------------------------------------------------------------------------------------- holding

duration actor::draw_hold() {
    auto& luck = world_.chances;
    const auto& o = world_.o;
    if (luck.permille(o.long_hold_permille))
        return luck.between(o.ttl / 2, o.ttl * 3);
    return luck.between(0us, o.usual_hold * 2);
}

void actor::begin_to_hold(const std::shared_ptr<detail::hold>& h) {
    held_ = h;
    home_.later(draw_hold(), [this, turn = turn_] {
        if (turn != turn_)
            return;
        wants_to_leave_ = true;
        leave_when_done();
    });
    if (h->owner != owner_id::nobody && world_.chances.permille(world_.o.nested_permille))
        ask_again();
    if (asked_.mode == mode::exclusive && held_ == h)
        work();
}

// The same once more: enters again, reads under its own write, or is told that it would wait for
// itself.
void actor::ask_again() {
    auto more = asked_;
    if (asked_.kind == kind::read_write && world_.chances.permille(600))
        more.mode = asked_.mode == mode::exclusive ? mode::shared : mode::exclusive;
    more.options.wait = world_.o.ttl;
    ask(more, purpose::again);
}

template <class Effect, class Then> void actor::affect(Effect effect, Then then) {
    if (!home_.believes(*held_)) {
        world_.seen(sighting::effect_refused_by_own_clock);
        return;
    }
    waits_for_vault_ = true;
    auto& w = world_;
    w.at(w.time() + w.fates.of_effect(),
         the_world,
         lane::application,
         [this, effect, then, turn = turn_, &w, id = home_.id()] {
             const auto answer = effect(); // the vault does not ask who is still alive
             w.at(
                 w.time() + w.fates.of_effect(), id, lane::application, [this, then, turn, answer] {
                     if (turn != turn_)
                         return;
                     waits_for_vault_ = false;
                     then(answer);
                 });
         });
}

void actor::work() {
    affect(
        [&v = world_.vault, name = *asked_.name, f = held_->fence] {
            return detail::has(detail::defect::no_raise_before_read) ? v.read(name)
                                                                     : v.raise(name, f);
        },
        [this](vault::answer a) { raised(a); });
}

void actor::raised(vault::answer a) {
    if (!held_ || !a.accepted || wants_to_leave_)
        return leave_when_done();
    affect(
        [&v = world_.vault, name = *asked_.name, f = held_->fence, value = a.value + 1] {
            return v.write(name, f, value);
        },
        [this](vault::answer written) { this->written(written); });
}

void actor::written(vault::answer a) {
    if (a.accepted)
        world_.vault.acknowledged(*asked_.name);
    if (!held_ || !a.accepted || wants_to_leave_)
        return leave_when_done();
    home_.later(world_.chances.between(100us, 5ms), [this, turn = turn_] {
        if (turn == turn_ && held_ && !wants_to_leave_ && !waits_for_vault_)
            work();
    });
}

// ----------------------------------------------------------------------------------------- leaving

void actor::told_stop(const std::shared_ptr<detail::hold>& h) {
    if (h != held_ || stubborn_)
        return;
    wants_to_leave_ = true;
    leave_when_done();
}

void actor::told_lost(const std::shared_ptr<detail::hold>& h) {
    if (h != held_)
        return;
    wants_to_leave_ = true;
    home_.later(world_.chances.between(0us, 5ms), [this, turn = turn_] {
        if (turn == turn_)
            leave_when_done();
    });
}

// A holder that gives back what it holds waits for its own effects first; one that has lost it need
// not.
void actor::leave_when_done() {
    if (!wants_to_leave_ || (waits_for_vault_ && held_ && home_.believes(*held_)))
        return;
    if (!more_.empty() && held_ && world_.chances.permille(500)) { // a reading outlives its write
        give_back(std::exchange(held_, nullptr));
        home_.later(draw_hold(), [this, turn = turn_] {
            if (turn == turn_)
                leave_when_done();
        });
        return;
    }
    for (const auto& h : std::exchange(more_, {}))
        give_back(h);
    if (held_)
        give_back(std::exchange(held_, nullptr));
    think_again_if_free();
}

void actor::give_back(const std::shared_ptr<detail::hold>& h) {
    leaving* says = nullptr;
    if (world_.chances.permille(500))
        says = farewells_.emplace_back(std::make_unique<farewell>(*this)).get();
    home_.release(h, says);
}

} // namespace holdfast::simulation
