#include "simulation/options.hpp"

#include <array>
#include <ostream>

namespace holdfast::simulation {
namespace {

using namespace std::chrono_literals;
using models::chance;

constexpr int rate_bound_ppm = 500; // two clocks then differ by at most 0.1 %

[[nodiscard]] int draw_rate(chance& luck, bool wild) {
    constexpr std::array<int, 5> usual{-rate_bound_ppm, -100, 0, 100, rate_bound_ppm};
    constexpr std::array<int, 4> beyond{-20'000, -5'000, 5'000, 20'000};
    return wild && luck.permille(500) ? luck.one_of(beyond) : luck.one_of(usual);
}

void draw_names(options& o, chance& luck) {
    const auto how_many = 1 + luck.below(3);
    for (std::uint64_t i = 0; i < how_many; ++i) {
        name_plan n{.name = std::string(1, static_cast<char>('a' + i))};
        constexpr std::array kinds{family::mutex,
                                   family::mutex,
                                   family::read_write,
                                   family::read_write,
                                   family::semaphore};
        n.family = luck.one_of(kinds);
        if (n.family == family::semaphore)
            n.permits = static_cast<std::uint32_t>(1 + luck.below(3));
        if (!has_sessions(o.engine) && luck.permille(250))
            n.lock_delay = o.ttl / 2;
        o.names.push_back(n);
    }
}

void draw_network(options& o, chance& luck) {
    constexpr std::array<duration, 3> most{200us, 2ms, 20ms};
    o.delay_most = luck.one_of(most);
    const auto sometimes = [&](unsigned& what, unsigned usual_permille) {
        if (luck.permille(450))
            what = static_cast<unsigned>(1 + luck.below(2 * usual_permille));
    };
    sometimes(o.slow_permille, 30);
    sometimes(o.late_permille, 30);
    sometimes(o.lost_permille, has_sessions(o.engine) ? 10 : 50);
    sometimes(o.doubled_permille, 30);
    sometimes(o.refused_permille, 20);
    sometimes(o.descheduled_permille, 30);
    sometimes(o.unknown_commit_permille, 40);
    sometimes(o.deadlock_permille, 30);
    sometimes(o.slow_effect_permille, 60);
}

void draw_faults(options& o, chance& luck) {
    const auto sometimes = [&](duration& what, unsigned permille, int ttls) {
        if (luck.permille(permille))
            what = o.ttl * ttls / 2 + luck.between(duration::zero(), o.ttl * ttls);
    };
    sometimes(o.cuts, 500, 4);
    sometimes(o.pauses, 500, 4);
    sometimes(o.suspends, 250, 6);
    sometimes(o.crashes, 400, 5);
    sometimes(o.forks, 200, 6);
    sometimes(o.closes, 200, 6);
    sometimes(o.restarts, 300, 5);
    if (o.wild)
        sometimes(o.clock_jumps, 500, 4);
    if (o.wild)
        sometimes(o.takings, 500, 4);
}

void draw_habits(options& o, chance& luck) {
    constexpr std::array<unsigned, 3> little{0, 50, 200};
    constexpr std::array<unsigned, 3> much{50, 300, 700};
    o.try_permille = luck.one_of(little);
    o.tiny_wait_permille = luck.one_of(little);
    o.timed_permille = luck.one_of(much);
    o.cancel_permille = luck.one_of(little);
    o.fair_permille = o.engine == engine::volatile_ttl ? 0 : luck.one_of(much);
    o.spin_permille = luck.one_of(little);
    o.policy_permille = luck.one_of(little);
    o.explicit_permille = luck.one_of(little);
    o.max_hold_permille = luck.one_of(little);
    o.deadly_permille = luck.permille(200) ? 50 : 0;
    o.stubborn_permille = luck.one_of(much);
    o.owner_permille = luck.one_of(much);
    o.nested_permille = luck.one_of(much);
    o.long_hold_permille = luck.one_of(little);
    constexpr std::array<duration, 3> pauses{200us, 5ms, 100ms};
    o.think = luck.one_of(pauses);
    constexpr std::array<duration, 3> holds{100us, 5ms, 50ms};
    o.usual_hold = luck.one_of(holds);
}

} // namespace

const char* name_of(engine e) noexcept {
    switch (e) {
    case engine::volatile_ttl:
        return "volatile_ttl";
    case engine::session_queue:
        return "session_queue";
    case engine::lossy_sql:
        return "lossy_sql";
    case engine::zookeeper:
        return "zookeeper";
    case engine::quorum:
        return "quorum";
    }
    return "?";
}

[[nodiscard]] static options draw(std::uint64_t seed, engine which) {
    chance luck{seed};
    options o;
    o.seed = seed;
    o.engine = which;
    o.wild = luck.permille(150);
    o.calm = !o.wild && luck.permille(80);
    o.machines = static_cast<unsigned>(2 + luck.below(3));
    o.actors = static_cast<unsigned>(1 + luck.below(4));
    constexpr std::array<duration, 3> ttls{300ms, 1s, 10s};
    o.ttl = luck.one_of(ttls);
    o.session_ttl = luck.permille(500) ? o.ttl : o.ttl * 3;
    o.server_ppm = draw_rate(luck, o.wild);
    for (unsigned i = 0; i < o.machines; ++i)
        o.machine_ppm.push_back(draw_rate(luck, o.wild));
    draw_names(o, luck);
    if (!o.calm) {
        draw_network(o, luck);
        draw_faults(o, luck);
    }
    draw_habits(o, luck);
    o.climbers = luck.permille(350) ? 1 : 0;
    return o;
}

options draw_options(std::uint64_t seed) {
    return draw(seed, all_engines[seed % std::size(all_engines)]);
}

// The same trouble for the machine that talks to ZooKeeper, on a model of its servers.
options draw_zookeeper(std::uint64_t seed) {
    auto o = draw(seed, engine::zookeeper);
    chance luck{chance::mix(seed + 55)};
    o.mutex_is_semaphore = luck.permille(150);
    o.session_raised = luck.permille(200);
    for (auto& n : o.names)
        if (luck.permille(300))
            n.name = "/shop/" + n.name;
    if (!o.calm && luck.permille(500)) // of one server among several: the others go on
        o.restarts = o.ttl / 2 + luck.between(duration::zero(), o.ttl * 2);
    return o;
}

// The same trouble, for five servers that are asked as one.
options draw_quorum(std::uint64_t seed) {
    auto o = draw_options(seed);
    chance luck{chance::mix(seed + 77)};
    o.engine = engine::quorum;
    o.wild = false;
    o.events *= 4; // each request is three or five
    o.fair_permille = 0;
    o.clock_jumps = o.takings = {};
    o.members = luck.permille(600) ? 3 : 5;
    const bool strong = luck.permille(300);
    o.may_forget = strong ? 2 : 0;
    o.wipes = luck.permille(500);
    constexpr std::array<unsigned, 3> long_holds{50, 300, 700}; // which need renewals
    o.long_hold_permille = luck.one_of(long_holds);
    if (!o.calm && luck.permille(500))
        o.cuts = o.ttl + luck.between(duration::zero(), o.ttl * 4);
    o.delay_most = std::min(o.delay_most, o.ttl / 50); // a round has a twentieth of the ttl
    o.clock_skew = luck.between(0us, o.ttl / 10);
    o.server_ppm = draw_rate(luck, false);
    for (auto& ppm : o.machine_ppm)
        ppm = draw_rate(luck, false);
    for (auto& n : o.names) {
        n.family = family::mutex;
        n.permits = 1;
        n.lock_delay = luck.permille(250) ? o.ttl / 2 : duration::zero();
    }
    if (!o.calm && luck.permille(600))
        o.restarts = o.ttl * 2 + luck.between(duration::zero(), o.ttl * 8);
    return o;
}

std::ostream& operator<<(std::ostream& to, const options& o) {
    const auto time = [&](const char* name, duration d) {
        if (d > duration::zero())
            to << "  " << name << ' ' << static_cast<double>(d.count()) / 1e6 << " ms\n";
    };
    const auto rate = [&](const char* name, unsigned permille) {
        if (permille > 0)
            to << "  " << name << ' ' << permille << " permille\n";
    };
    to << "seed " << o.seed << ": " << name_of(o.engine)
       << (o.wild   ? ", beyond the guarantee"
           : o.calm ? ", calm"
                    : "")
       << ", " << o.machines << " machines with " << o.actors << " actors"
       << (o.climbers > 0 ? " and a climber" : "") << " each\n";
    for (const auto& n : o.names) {
        to << "  name " << n.name << ": "
           << (n.family == family::mutex        ? "mutex"
               : n.family == family::read_write ? "read-write"
                                                : "semaphore");
        if (n.family == family::semaphore)
            to << " of " << n.permits;
        if (n.lock_delay > duration::zero())
            to << ", kept back " << static_cast<double>(n.lock_delay.count()) / 1e6 << " ms";
        to << '\n';
    }
    if (o.engine == engine::quorum)
        to << "  " << o.members << " members, of which " << o.may_forget << " may forget"
           << (o.wipes ? ", the others after quarantine" : "") << '\n';
    if (o.mutex_is_semaphore)
        to << "  mutexes are semaphores\n";
    if (o.session_raised)
        to << "  sessions get more time than they asked for\n";
    to << "  clocks: server " << o.server_ppm << " ppm, machines";
    for (const auto ppm : o.machine_ppm)
        to << ' ' << ppm;
    to << '\n';
    time("ttl", o.ttl);
    time("session ttl", has_sessions(o.engine) ? o.session_ttl : duration::zero());
    time("journey up to", o.delay_most);
    rate("slow", o.slow_permille);
    rate("late", o.late_permille);
    rate("lost", o.lost_permille);
    rate("doubled", o.doubled_permille);
    rate("refused", o.refused_permille);
    rate("descheduled", o.descheduled_permille);
    rate("unknown commit", o.unknown_commit_permille);
    rate("deadlock victim", o.deadlock_permille);
    rate("slow effect", o.slow_effect_permille);
    time("cuts every", o.cuts);
    time("pauses every", o.pauses);
    time("suspends every", o.suspends);
    time("crashes every", o.crashes);
    time("forks every", o.forks);
    time("closes every", o.closes);
    time("restarts every", o.restarts);
    time("clock jumps every", o.clock_jumps);
    time("takings every", o.takings);
    rate("try", o.try_permille);
    rate("tiny wait", o.tiny_wait_permille);
    rate("timed", o.timed_permille);
    rate("cancel", o.cancel_permille);
    rate("fair", o.fair_permille);
    rate("spin", o.spin_permille);
    rate("retry policy", o.policy_permille);
    rate("explicit", o.explicit_permille);
    rate("max_hold", o.max_hold_permille);
    rate("deadly", o.deadly_permille);
    rate("stubborn", o.stubborn_permille);
    rate("with an owner", o.owner_permille);
    rate("nested", o.nested_permille);
    rate("long hold", o.long_hold_permille);
    time("think", o.think);
    time("hold", o.usual_hold);
    return to;
}

} // namespace holdfast::simulation
