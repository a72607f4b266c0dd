#include "simulation/faults.hpp"
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
    w.network.cut(p->id(), which != 1, which != 0);
    w.at(w.time() + length, the_world, lane::network, [&w, id = p->id()] { w.network.join(id); });
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
    w.restart_server(wiped ? models::memory::wiped : models::memory::kept);
    w.network.stall_until(w.time() + w.chances.between(0us, w.o.ttl / 4));
}

void make_the_servers_clock_jump(world& w) {
    const auto by = w.chances.between(0us, w.o.ttl * 2);
    w.say("JUMP of the server's clock by ", by / 1us, " us");
    w.jump_server_clock(by);
}

void take_a_lease_away(world& w) {
    const auto& name = w.o.names[w.chances.below(w.o.names.size())].name;
    w.say("TAKEN: ", name);
    w.engine().take_away(name);
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
        {o.restarts, restart_the_server},
        {o.clock_jumps, make_the_servers_clock_jump},
        {o.takings, take_a_lease_away},
    };
    for (const auto& [mean, what] : all)
        again_and_again(w, mean, what);
}

} // namespace holdfast::simulation
