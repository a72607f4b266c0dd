// Many at once, each with a name of its own: how well one session is kept busy.

#include "apart.hpp"
#include "raw_zookeeper.hpp"
#include "zookeeper_world.hpp"

#include <mutex>

namespace bench {
namespace {

/// So that what is divided by the cycles is what they took.
[[nodiscard]] std::uint64_t equal_shares(std::uint64_t cycles) {
    return cycles / threads_apart * threads_apart;
}

/// Ours, the limit, and the limit with the list that makes it a lock.
[[nodiscard]] std::vector<rival>
field(std::function<sample(std::uint64_t)> ours, raw_zookeeper& raw, std::uint64_t cycles) {
    using with = raw_zookeeper::with;
    const auto all_at_once = [&raw](with how) {
        return [&raw, how](std::uint64_t n) { return raw.pipelined(n, how); };
    };
    return {{{"holdfast", cycles, std::move(ours)}, {}},
            {{"raw, pipelined", cycles, all_at_once(with::no_list)}, 1 / 0.8},
            {{"raw, pipelined with lists", cycles, all_at_once(with::list)}, {}}};
}

void with_threads(zookeeper_world& world, const effort& how, placed where, findings& out) {
    const auto cycles = equal_shares(how.cycles(1280)), theirs = equal_shares(how.cycles(640));
    plots all{how.url, threads_apart};
    raw_zookeeper raw{world.servers.address(), threads_apart};
    const auto cycle = [&](std::size_t who) { cycle_of(all.locks[who], all.last_fence[who])(); };
    const auto hold = [&](std::size_t who) { const std::scoped_lock held{all.locks[who]}; };

    auto waiting = field([&](auto n) { return by_threads(threads_apart, n, cycle); }, raw, cycles);
    waiting.push_back({{"raw, threads", cycles, [&](auto n) { return raw.threads(n); }}, {}});
    world.join(waiting, world.curator.get(), "apart 64", theirs, 1 / 2.0);
    world.contest(how, out, world.work("64 threads, a name each"), where, waiting);

    auto hasty = field([&](auto n) { return by_threads(threads_apart, n, hold); }, raw, cycles);
    world.join(hasty, world.curator.get(), "apart 64", theirs, {});
    world.contest(
        how, out, world.work("64 threads, lock + unlock, which does not wait"), where, hasty);
}

void with_coroutines(zookeeper_world& world, const effort& how, placed where, findings& out) {
    const auto cycles = how.cycles(2000), theirs = equal_shares(how.cycles(640));
    plots all{how.url, coroutines_apart};
    raw_zookeeper raw{world.servers.address(), coroutines_apart};
    auto rivals = field([&](auto n) { return by_coroutines(all, n); }, raw, cycles);
    world.join(rivals, world.curator.get(), "apart 64", theirs, 1 / 2.0);
    world.contest(how, out, world.work("1,000 coroutines, a name each"), where, rivals);
}

} // namespace

void zookeeper_apart(zookeeper_world& world, const effort& how, findings& out) {
    for (const auto where : places()) {
        world.place(where);
        with_threads(world, how, where, out);
        with_coroutines(world, how, where, out);
    }
}

} // namespace bench
