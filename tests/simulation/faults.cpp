#include "simulation/faults.hpp"
#include "lease/defect.hpp"
#include "simulation/world.hpp"

#include <array>
#include <functional>
#include <utility>

namespace holdfast::simulation {
namespace {

using models::sighting;
using namespace std::chrono_literals;

// Just below and just above a ttl is where the interesting things happen.
[[nodiscard]] duration draw_length(world& w) {
    constexpr std::array<int, 6> percent{5, 20, 90, 105, 150, 300};
    return w.o.ttl * w.chances.one_of(percent) / 100;
}

[[nodiscard]] process* draw_process(world& w) {
    const auto all = w.living();
    return all.empty() ? nullptr : all[w.chances.below(all.size())];
}

void cut_somebody_off(world& w) {
    auto* const p = draw_process(w);
    if (p == nullptr)
        return;
    const auto which = w.chances.below(3); // one way is worse than both
    const auto length = draw_length(w);
    w.say("CUT ",
          p->id(),
          which == 0   ? " up"
          : which == 1 ? " down"
                       : " both ways",
          " for ",
          length / 1us,
          " us");
    // In a quorum: now from one member, now from some of them.
    const auto first = w.engines() == 1 ? 0 : w.chances.below(w.engines());
    const auto count = w.engines() == 1 ? 1 : 1 + w.chances.below(w.engines());
    for (std::size_t i = 0; i < count; ++i) {
        const auto server = (first + i) % w.engines();
        w.network(server).cut(p->id(), which != 1, which != 0);
        w.at(w.time() + length, the_world, lane::network, [&w, server, id = p->id()] {
            w.network(server).join(id);
        });
    }
}

void pause_somebody(world& w) {
    if (auto* const p = draw_process(w); p != nullptr && !p->stopped())
        w.pause(*p, draw_length(w));
}

void suspend_a_machine(world& w) { w.suspend(w.chances.below(w.machines()), draw_length(w)); }

void crash_somebody(world& w) {
    auto* const p = draw_process(w);
    if (p == nullptr)
        return;
    auto& m = p->on();
    w.crash(*p);
    constexpr std::array<int, 3> percent{0, 50, 200};
    const auto off = w.o.ttl * w.chances.one_of(percent) / 100;
    w.at(w.time() + off, the_world, lane::application, [&w, &m] {
        if (!w.healed())
            w.begin_process(m);
    });
}

// The child has copies of all leases, and holds none of them; then it makes a client of its own.
void fork_somebody(world& w) {
    auto* const parent = draw_process(w);
    if (parent == nullptr || parent->stopped() || w.living().size() > 6)
        return;
    auto& child = w.begin_process(parent->on(), parent->generation() + 1);
    w.say("FORK ", parent->id());
    w.oracle.forked(*parent, child);
}

void close_somebody(world& w) {
    auto* const p = draw_process(w);
    if (p == nullptr || p->stopped() || p->closed())
        return;
    w.say("CLOSE ", p->id());
    w.seen(sighting::client_closed_in_the_middle);
    p->close();
    auto& m = p->on();
    w.at(w.time() + w.o.ttl, the_world, lane::application, [&w, &m] {
        if (!w.healed())
            w.begin_process(m);
    });
}

void restart_the_server(world& w) {
    const bool wiped = w.o.wild && w.chances.permille(500);
    w.say("RESTART of the server", wiped ? ", everything forgotten" : "");
    w.engine(0).restart(wiped ? models::memory::wiped : models::memory::kept);
    w.network(0).stall_until(w.time() + w.chances.between(0us, w.o.ttl / 4));
}

// Comes back with all it knew after a while; or empty, and then only after the longest lease, so
// that all it has forgotten is over. Members that may forget (quorum:strong) come back at once.
void restart_a_member(world& w) {
    const auto which = w.chances.below(w.engines());
    const bool may_forget = which < w.o.may_forget;
    const bool wiped = may_forget || (w.o.wipes && w.chances.permille(500));
    const bool waits = wiped && !may_forget && !has(detail::defect::quorum_no_quarantine);
    const auto off = waits ? w.longest_lease() : w.chances.between(0us, w.o.ttl);
    w.say("RESTART of member ", which, wiped ? ", everything forgotten" : "");
    w.engine(which).restart(wiped ? models::memory::wiped : models::memory::kept);
    w.network(which).away_until(w.time() + off);
}

void restart(world& w) {
    if (w.o.engine == engine::quorum)
        restart_a_member(w);
    else
        restart_the_server(w);
}

void make_the_servers_clock_jump(world& w) {
    const auto by = w.chances.between(0us, w.o.ttl * 2);
    w.say("JUMP of the server's clock by ", by / 1us, " us");
    w.jump_clock(0, by);
}

void take_a_lease_away(world& w) {
    const auto& name = w.o.names[w.chances.below(w.o.names.size())].name;
    w.say("TAKEN: ", name);
    w.engine(0).take_away(name);
}

using fault = void (*)(world&);

void again_and_again(world& w, duration mean, fault what) {
    if (mean == duration::zero())
        return;
    w.at(w.time() + w.chances.between(mean / 5, mean * 9 / 5),
         the_world,
         lane::application,
         [&w, mean, what] {
             if (w.healed())
                 return;
             what(w);
             again_and_again(w, mean, what);
         });
}

} // namespace

void unleash_faults(world& w) {
    const auto& o = w.o;
    const std::pair<duration, fault> all[] = {
        {o.cuts, cut_somebody_off},
        {o.pauses, pause_somebody},
        {o.suspends, suspend_a_machine},
        {o.crashes, crash_somebody},
        {o.forks, fork_somebody},
        {o.closes, close_somebody},
        {o.restarts, restart},
        {o.clock_jumps, make_the_servers_clock_jump},
        {o.takings, take_a_lease_away},
    };
    for (const auto& [mean, what] : all)
        again_and_again(w, mean, what);
}

} // namespace holdfast::simulation
