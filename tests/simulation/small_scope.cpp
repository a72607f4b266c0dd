// Two clients, one lock, and every way in which it can go: each message arrives, gets lost or comes
// late, each holder releases, stays beyond its ttl, is stopped, or dies. All combinations of the
// first choices, one after the other; after those, all goes well.
//
// HOLDFAST_DEPTH says how many choices are open.

#include "simulation/fate.hpp"
#include "simulation/seed.hpp"
#include "simulation/world.hpp"

#include <gtest/gtest.h>

#include <iostream>
#include <utility>
#include <vector>

namespace holdfast::simulation {
namespace {

using namespace std::chrono_literals;

constexpr duration ttl = 1s;

/// Which way to go at each fork of the road: as the last time up to some point, then always the
/// first.
class choices {
public:
    explicit choices(std::size_t depth) : depth_{depth} {}

    [[nodiscard]] std::uint32_t choose(std::uint32_t ways) {
        if (at_ == depth_)
            return 0;
        if (at_ == taken_.size())
            taken_.push_back({0, ways});
        EXPECT_EQ(taken_[at_].ways, ways) << "the same beginning leads to the same fork";
        return taken_[at_++].way;
    }

    void from_the_start() noexcept { at_ = 0; }

    /// Prepares the next schedule; false if that was the last.
    [[nodiscard]] bool another() {
        from_the_start();
        while (!taken_.empty() && taken_.back().way + 1 == taken_.back().ways)
            taken_.pop_back();
        if (taken_.empty())
            return false;
        ++taken_.back().way;
        return true;
    }

    [[nodiscard]] std::string written() const {
        std::string text;
        for (const auto& t : taken_)
            text += joined(t.way, " ");
        return text;
    }

private:
    struct fork {
        std::uint32_t way;
        std::uint32_t ways;
    };
    const std::size_t depth_;
    std::size_t at_ = 0;
    std::vector<fork> taken_;
};

class chosen_fate final : public fate {
public:
    chosen_fate(choices& c, engine e) : choices_{c}, engine_{e} {}

    // On a connection nothing comes late: what gets lost breaks it.
    journey of_request() override {
        switch (healed_ ? 0 : choices_.choose(3)) {
        case 1:
            return {.lost = true};
        case 2:
            return {.delay = has_sessions(engine_) ? ttl / 2 : ttl * 13 / 10};
        default:
            return {.delay = 1ms};
        }
    }
    journey of_answer() override {
        switch (healed_ ? 0 : choices_.choose(3)) {
        case 1:
            return {.lost = true};
        case 2:
            return {.delay = ttl / 8};
        default:
            return {.delay = 700us};
        }
    }
    duration of_effect() override { return 100us; }
    duration of_timer() override { return 0us; }
    bool refuses() override { return false; }
    duration between_deciding_and_doing() override { return 0us; }
    void heal() override { healed_ = true; }

private:
    choices& choices_;
    const engine engine_;
    bool healed_ = false;
};

/// Locks once or twice, and does with it what the choices say.
class visitor final : public application {
public:
    visitor(process& home, choices& c, int visits, duration first)
        : home_{home}, choices_{c}, visits_{visits} {
        home_.later(first, [this] { ask(); });
    }

    void told_stop(const std::shared_ptr<detail::hold>&) override {}
    void told_lost(const std::shared_ptr<detail::hold>&) override {}
    [[nodiscard]] bool at_rest() const override { return !asks_ && !held_; }
    void finish() override { visits_ = 0; }

private:
    struct question final : asking {
        explicit question(visitor& v) : who{v} {}
        void told(error_code, std::shared_ptr<detail::hold> granted) override {
            who.told(std::move(granted));
        }
        visitor& who;
    };

    void ask() {
        if (visits_-- <= 0)
            return;
        asks_ = std::make_unique<question>(*this);
        asks_->what.name = std::make_shared<const std::string>("a");
        asks_->what.options.ttl = ttl;
        home_.acquire(*asks_);
    }

    void told(std::shared_ptr<detail::hold> granted) {
        const auto done = std::move(asks_);
        held_ = std::move(granted);
        auto& w = home_.around();
        switch (w.healed() ? 0 : choices_.choose(4)) {
        case 1:
            return home_.later(ttl * 14 / 10, [this] { leave(); }); // beyond its ttl, renewing
        case 2:
            w.at(w.time() + 1ms, the_world, lane::application, [&w, id = home_.id()] {
                w.pause(*w.find(id), ttl * 12 / 10);
            });
            return home_.later(10ms, [this] { leave(); }); // runs as soon as the process does
        case 3:
            w.at(w.time() + 1ms, the_world, lane::application, [&w, id = home_.id()] {
                w.crash(*w.find(id));
            });
            return;
        default:
            return home_.later(5ms, [this] { leave(); });
        }
    }

    void leave() {
        home_.release(std::exchange(held_, nullptr), nullptr);
        home_.later(2ms, [this] { ask(); });
    }

    process& home_;
    choices& choices_;
    int visits_;
    std::unique_ptr<question> asks_;
    std::shared_ptr<detail::hold> held_;
};

[[nodiscard]] options small_options(engine e) {
    options o;
    o.seed = 1;
    o.engine = e;
    o.names = {{.name = "a"}};
    o.ttl = o.session_ttl = ttl;
    o.server_ppm = 500; // as far apart as clocks may be
    o.machine_ppm = {-500, -500};
    o.events = 400;
    return o;
}

class small_scope : public testing::TestWithParam<engine> {};

TEST_P(small_scope, no_schedule_of_two_clients_breaks_an_invariant) {
#if defined(__SANITIZE_ADDRESS__)
    constexpr std::uint64_t usual_depth = 8;
#else
    constexpr std::uint64_t usual_depth = 10;
#endif
    choices all{number_from_environment("HOLDFAST_DEPTH", usual_depth)};
    const auto o = small_options(GetParam());
    std::uint64_t schedules = 0;
    std::uint64_t events = 0;
    const auto live_once = [&](bool with_lines) {
        chosen_fate fate{all, GetParam()};
        int settled = 0;
        world w{o,
                fate,
                [&](process& p) {
                    const bool first = settled++ == 0;
                    p.house(std::make_unique<visitor>(p, all, first ? 2 : 1, first ? 0us : 500us));
                },
                with_lines};
        try {
            w.run();
        } catch (const violation& v) {
            w.say(v.what());
            std::string story;
            for (const auto& line : w.story.lines())
                story += line + "\n";
            return std::pair{w.events(), joined(v.what(), "\n", story)};
        }
        return std::pair{w.events(), std::string{}};
    };
    do {
        auto [count, complaint] = live_once(false);
        ++schedules;
        events += count;
        if (!complaint.empty()) {
            all.from_the_start(); // once more, with lines
            FAIL() << "schedule " << all.written() << "\n" << live_once(true).second;
        }
    } while (all.another());
    std::cout << name_of(GetParam()) << ": " << schedules << " schedules, " << events
              << " events\n";
}

INSTANTIATE_TEST_SUITE_P(of, small_scope, testing::ValuesIn(all_engines), [](const auto& which) {
    return std::string{name_of(which.param)};
});

} // namespace
} // namespace holdfast::simulation
