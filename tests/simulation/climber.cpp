#include "simulation/climber.hpp"
#include "simulation/world.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::simulation {

using models::sighting;
using namespace std::chrono_literals;

struct climber::question final : asking {
    explicit question(climber& c) : who{c} {}
    void told(error_code, std::shared_ptr<detail::hold> granted) override {
        auto& c = who;
        const auto self = std::move(c.question_); // it ends here, before anything else is asked
        c.answered(std::move(granted));
    }
    climber& who;
};

climber::climber(process& home) : home_{home}, world_{home.around()} { think(); }

climber::~climber() = default;

void climber::think() {
    home_.later(world_.chances.between(10us, world_.o.think * 2), [this] {
        if (!finishing_ && !home_.closed())
            begin();
    });
}

void climber::begin() {
    auto& luck = world_.chances;
    const auto& o = world_.o;
    acquire_options options{.ttl = o.ttl};
    if (luck.permille(o.try_permille))
        options.wait = duration::zero();
    else if (luck.permille(o.timed_permille))
        options.wait = luck.between(o.ttl / 10, o.ttl * 3);
    options.order = luck.permille(o.fair_permille) ? queueing::fair : queueing::plain;

    wanted_.clear();
    for (const auto& name : o.names) { // they are in order
        detail::request r;
        r.name = std::make_shared<const std::string>(name.name);
        r.permits = name.permits;
        r.options = options;
        r.options.lock_delay = name.lock_delay;
        if (name.family == family::semaphore) {
            r.kind = kind::permits;
            r.mode = mode::permit;
        } else if (name.family == family::read_write) {
            r.kind = kind::read_write;
            r.mode = luck.permille(500) ? mode::shared : mode::exclusive;
        }
        wanted_.push_back(std::move(r));
    }
    way_.emplace(wanted_.size(), options.wait, home_.now());
    ask();
}

void climber::ask() {
    question_ = std::make_unique<question>(*this);
    question_->what = wanted_[way_->next()];
    question_->what.options.wait = way_->wait_left(home_.now());
    home_.acquire(*question_);
}

void climber::answered(std::shared_ptr<detail::hold> granted) {
    using step = detail::ascent::step;
    if (!granted) {
        give_back();
        return think();
    }
    held_.push_back(std::move(granted));
    const bool all =
        std::all_of(held_.begin(), held_.end(), [&](const auto& h) { return home_.believes(*h); });
    switch (way_->granted(all, home_.now())) {
    case step::ask:
        return ask();
    case step::start_over:
        world_.seen(sighting::one_of_several_lost_on_the_way);
        give_back();
        return ask();
    case step::give_up:
        give_back();
        return think();
    case step::done:
        break;
    }
    if (wanted_.size() > 1)
        world_.seen(sighting::several_held_together);
    home_.later(world_.chances.between(0us, world_.o.usual_hold * 2), [this] {
        give_back();
        think();
    });
}

void climber::give_back() {
    while (!held_.empty()) {
        home_.release(held_.back(), nullptr);
        held_.pop_back();
    }
}

} // namespace holdfast::simulation
