// Acquire and release, alone: what we add to two round trips.

#include "raw_redis.hpp"
#include "redis_world.hpp"
#include "timed.hpp"

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

#include <mutex>

namespace bench {
namespace {

void measure(redis_world& world, const effort& how, placed where, findings& out) {
    world.place(where);
    const auto client = holdfast::open(how.url);
    holdfast::mutex ours{client, "orders/42"};
    raw_redis raw{world.server.port(), 1};
    std::int64_t last = 0;

    const auto cycles = how.cycles(500);
    std::vector<rival> waiting = {
        {{"holdfast", cycles, [&](std::uint64_t n) { return timed(n, cycle_of(ours, last)); }}, {}},
        {{"raw, blocking", cycles, [&](std::uint64_t n) { return raw.blocking(n); }}, 1 / 0.85},
    };
    world.join(waiting, world.redisson.get(), "alone", cycles, 1 / 1.5);
    world.join(waiting, world.rueidislock.get(), "alone", cycles, {});
    world.join(waiting, world.redsync.get(), "alone", cycles, {});
    world.join(waiting, world.redis_py.get(), "alone", cycles, {});
    world.contest(how, out, "acquire + release", where, waiting);

    const auto hold_once = [&] { const std::scoped_lock hold{ours}; };
    world.contest(
        how,
        out,
        "lock + unlock, which does not wait",
        where,
        {{{"holdfast", cycles, [&](std::uint64_t n) { return timed(n, hold_once); }}, {}},
         {{"raw, together", cycles, [&](std::uint64_t n) { return raw.together(n); }}, 1 / 0.85}});
}

} // namespace

void redis_alone(redis_world& world, const effort& how, findings& out) {
    for (const auto where : places())
        measure(world, how, where, out);
}

} // namespace bench
