// Many at once, each with a name of its own: how well requests of all are gathered into few writes.

#include "apart.hpp"
#include "raw_redis.hpp"
#include "redis_world.hpp"

#include <mutex>

namespace bench {
namespace {

/// Ours must not cost a quarter of what Java costs.
void compare_cpu(const std::vector<standing>& all,
                 const std::string& work,
                 placed where,
                 findings& out) {
    for (const auto& one : all)
        if (one.name == "redisson" && one.each.cpu_ns > 0)
            out.figures.push_back({work + ", " + name_of(where),
                                   "client CPU of a cycle",
                                   all[0].each.cpu_ns / one.each.cpu_ns,
                                   "of Redisson's",
                                   0.25,
                                   {}});
}

void measure(redis_world& world, const effort& how, placed where, findings& out) {
    world.place(where);
    const auto ours = how.cycles(3200), theirs = how.cycles(1600);
    {
        const std::string work = "64 threads, a name each";
        plots all{how.url, threads_apart};
        raw_redis raw{world.server.port(), threads_apart};
        const auto cycle = [&](std::size_t who) {
            cycle_of(all.locks[who], all.last_fence[who])();
        };
        const auto hold = [&](std::size_t who) { const std::scoped_lock held{all.locks[who]}; };
        const rival limit{
            {"raw, pipelined", ours, [&](std::uint64_t n) { return raw.pipelined(n); }}, 1 / 0.8};
        std::vector<rival> rivals = {
            {{"holdfast",
              ours,
              [&](std::uint64_t n) { return by_threads(threads_apart, n, cycle); }},
             {}},
            limit,
            {{"raw, threads", ours, [&](std::uint64_t n) { return raw.threads(n); }}, {}}};
        world.join(rivals, world.redisson.get(), "apart 64", theirs, 1 / 3.0);
        world.join(rivals, world.rueidislock.get(), "apart 64", ours, 1 / 1.5);
        world.join(rivals, world.redsync.get(), "apart 64", theirs, {});
        compare_cpu(world.contest(how, out, work, where, rivals), work, where, out);
        const contender unlocking{
            "holdfast", ours, [&](std::uint64_t n) { return by_threads(threads_apart, n, hold); }};
        world.contest(how,
                      out,
                      "64 threads, lock + unlock, which does not wait",
                      where,
                      {{unlocking, {}}, limit});
    }
    {
        const std::string work = "1,000 coroutines, a name each";
        plots all{how.url, coroutines_apart};
        raw_redis raw{world.server.port(), coroutines_apart};
        std::vector<rival> rivals = {
            {{"holdfast", ours, [&](std::uint64_t n) { return by_coroutines(all, n); }}, {}},
            {{"raw, pipelined", ours, [&](std::uint64_t n) { return raw.pipelined(n); }}, 1 / 0.8},
        };
        world.join(rivals, world.redisson.get(), "flying 1000", theirs, 1 / 3.0);
        world.join(rivals, world.rueidislock.get(), "apart 1000", ours, 1 / 1.5);
        compare_cpu(world.contest(how, out, work, where, rivals), work, where, out);
    }
}

} // namespace

void redis_apart(redis_world& world, const effort& how, findings& out) {
    for (const auto where : places())
        measure(world, how, where, out);
}

} // namespace bench
