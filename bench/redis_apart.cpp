// Many at once, each with a name of its own: how well requests of all are gathered into few writes.

#include "raw_redis.hpp"
#include "redis_world.hpp"
#include "timed.hpp"

#include <holdfast/async.hpp>
#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <exception>
#include <mutex>

namespace bench {
namespace {

namespace asio = boost::asio;

constexpr std::size_t threads = 64, coroutines = 1000;

/// Names of one client, one for each who works.
struct plots {
    holdfast::client client;
    std::vector<holdfast::mutex> locks;
    std::vector<std::int64_t> last_fence;

    plots(const std::string& url, std::size_t count)
        : client{holdfast::open(url)}, last_fence(count) {
        for (std::size_t i = 0; i < count; ++i)
            locks.emplace_back(client, "apart/" + std::to_string(i));
    }
};

/// `once(who)` is one cycle.
template <class Cycle> sample by_threads(std::uint64_t cycles, Cycle once) {
    const auto each = cycles / threads;
    std::vector<float> latencies;
    const auto took = together(threads, latencies, [&](std::size_t who, std::vector<float>& notes) {
        notes.reserve(each);
        for (std::uint64_t i = 0; i < each; ++i) {
            const auto begin = now_ns();
            once(who);
            notes.push_back(static_cast<float>(now_ns() - begin));
        }
    });
    return sample_of(static_cast<double>(took) / static_cast<double>(each * threads), latencies);
}

struct purse {
    std::uint64_t left;
    std::vector<float> latencies;
};

asio::awaitable<void> work(holdfast::mutex& lock, std::int64_t& last, purse& ours) {
    while (ours.left > 0) {
        --ours.left;
        const auto begin = now_ns();
        auto lease = co_await lock.async_acquire({}, asio::use_awaitable);
        const auto fence = lease.fence().value();
        check(fence > last, "the fence grows");
        last = fence;
        const auto gone = co_await lease.async_release(asio::use_awaitable);
        check(gone == holdfast::release_result::released, "the release is certain");
        ours.latencies.push_back(static_cast<float>(now_ns() - begin));
    }
}

void rethrow(const std::exception_ptr& failed) {
    if (failed)
        std::rethrow_exception(failed);
}

sample by_coroutines(plots& all, std::uint64_t cycles) {
    asio::io_context context{1};
    purse ours{cycles, {}};
    ours.latencies.reserve(cycles);
    const auto begin = now_ns();
    for (std::size_t i = 0; i < coroutines; ++i)
        asio::co_spawn(context, work(all.locks[i], all.last_fence[i], ours), rethrow);
    context.run();
    const auto took = static_cast<double>(now_ns() - begin);
    check(ours.latencies.size() == cycles, "all cycles were done");
    return sample_of(took / static_cast<double>(cycles), ours.latencies);
}

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
        plots all{how.url, threads};
        raw_redis raw{world.server.port(), threads};
        const auto cycle = [&](std::size_t who) {
            cycle_of(all.locks[who], all.last_fence[who])();
        };
        const auto hold = [&](std::size_t who) { const std::scoped_lock held{all.locks[who]}; };
        const rival limit{
            {"raw, pipelined", ours, [&](std::uint64_t n) { return raw.pipelined(n); }}, 1 / 0.8};
        std::vector<rival> rivals = {
            {{"holdfast", ours, [&](std::uint64_t n) { return by_threads(n, cycle); }}, {}},
            limit,
            {{"raw, threads", ours, [&](std::uint64_t n) { return raw.threads(n); }}, {}}};
        world.join(rivals, world.redisson.get(), "apart 64", theirs, 1 / 3.0);
        world.join(rivals, world.rueidislock.get(), "apart 64", ours, 1 / 1.5);
        world.join(rivals, world.redsync.get(), "apart 64", theirs, {});
        compare_cpu(world.contest(how, out, work, where, rivals), work, where, out);
        const contender unlocking{
            "holdfast", ours, [&](std::uint64_t n) { return by_threads(n, hold); }};
        world.contest(how,
                      out,
                      "64 threads, lock + unlock, which does not wait",
                      where,
                      {{unlocking, {}}, limit});
    }
    {
        const std::string work = "1,000 coroutines, a name each";
        plots all{how.url, coroutines};
        raw_redis raw{world.server.port(), coroutines};
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
    measure(world, how, placed::anywhere, out);
    measure(world, how, placed::one_cpu, out);
    if (cpus() > 1)
        measure(world, how, placed::two_cpus, out);
}

} // namespace bench
