// Acquire and release, alone: what we add to two statements that are committed.

#include "sql_world.hpp"
#include "timed.hpp"

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

#include <mutex>

namespace bench {
namespace {

void measure(sql_world& world, const effort& how, placed where, findings& out) {
    world.place(where);
    const auto client = holdfast::open(how.url);
    holdfast::mutex ours{client, "orders/42"};
    const auto raw = world.server->connect("raw"), shed = world.server->connect("shed");
    const auto name = raw_name(0);
    std::int64_t last = 0, last_raw = 0;

    const auto cycles = how.cycles(300);
    const auto once_raw = [&] { raw_cycle(*raw, name, last_raw); };
    const contender by_hand{
        "raw, two statements", cycles, [&](std::uint64_t n) { return timed(n, once_raw); }};
    std::vector<rival> waiting = {
        {{"holdfast", cycles, [&](std::uint64_t n) { return timed(n, cycle_of(ours, last)); }}, {}},
        {by_hand, 1 / 0.85},
        {{"as ShedLock, in C++",
          cycles,
          [&](std::uint64_t n) { return timed(n, [&] { shed_cycle(*shed); }); }},
         {}},
    };
    world.join(waiting, world.python.get(), "alone", cycles, {});
    world.contest(how, out, world.work("acquire + release"), where, waiting);

    const auto hold_once = [&] { const std::scoped_lock hold{ours}; };
    const std::vector<rival> hasty = {
        {{"holdfast", cycles, [&](std::uint64_t n) { return timed(n, hold_once); }}, {}},
        {by_hand, {}}};
    world.contest(how, out, world.work("lock + unlock, which does not wait"), where, hasty);
}

} // namespace

void sql_alone(sql_world& world, const effort& how, findings& out) {
    for (const auto where : places())
        measure(world, how, where, out);
}

} // namespace bench
