// Acquire and release, alone: what we add to two round trips, and what a third one would cost.

#include "raw_zookeeper.hpp"
#include "timed.hpp"
#include "zookeeper_world.hpp"

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

#include <mutex>

namespace bench {
namespace {

void measure(zookeeper_world& world, const effort& how, placed where, findings& out) {
    world.place(where);
    const auto client = holdfast::open(how.url);
    holdfast::mutex ours{client, "orders/42"};
    raw_zookeeper raw{world.servers.address(), 1};
    std::int64_t last = 0;

    const auto cycles = how.cycles(200);
    std::vector<rival> waiting = {
        {{"holdfast", cycles, [&](std::uint64_t n) { return timed(n, cycle_of(ours, last)); }}, {}},
        {{"raw, create + delete", cycles, [&](std::uint64_t n) { return raw.blocking(n); }},
         1 / 0.9},
        {{"raw, create with list + delete",
          cycles,
          [&](std::uint64_t n) { return raw.as_we_ask(n); }},
         {}},
        {{"raw, create + list + delete", cycles, [&](std::uint64_t n) { return raw.in_turn(n); }},
         {}},
    };
    world.join(waiting, world.curator.get(), "alone", cycles, 1 / 1.4);
    world.join(waiting, world.kazoo.get(), "alone", cycles, {});
    world.contest(how, out, world.work("acquire + release"), where, waiting);

    const auto hold_once = [&] { const std::scoped_lock hold{ours}; };
    std::vector<rival> hasty = {
        {{"holdfast", cycles, [&](std::uint64_t n) { return timed(n, hold_once); }}, {}},
        {{"raw, together", cycles, [&](std::uint64_t n) { return raw.together(n); }}, {}}};
    world.join(hasty, world.curator.get(), "alone", cycles, 1 / 1.4);
    world.contest(how, out, world.work("lock + unlock, which does not wait"), where, hasty);
}

} // namespace

void zookeeper_alone(zookeeper_world& world, const effort& how, findings& out) {
    for (const auto where : places())
        measure(world, how, where, out);
}

} // namespace bench
