// While nothing happens: what leases that are held and waiters that wait ask of the database, and
// how many connections they keep. A relay in between counts what is said.

#include "apart.hpp"
#include "at_rest.hpp"
#include "relay.hpp"
#include "sql_world.hpp"
#include "timed.hpp"

#include <holdfast/async.hpp>
#include <holdfast/client.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

namespace bench {
namespace {

using namespace std::chrono_literals;

struct rest {
    double statements = 0, cpu = 0;
    std::string over;
};

/// What is asked, and what it costs us, in so many seconds.
[[nodiscard]] rest look(const relay& between, int seconds) {
    const auto asked = between.trips();
    const auto from = footprint::now();
    const auto begin = now_ns();
    std::this_thread::sleep_for(std::chrono::seconds{seconds});
    const auto took = static_cast<double>(now_ns() - begin);
    return {static_cast<double>(between.trips() - asked),
            (footprint::now().cpu_ns - from.cpu_ns) / took * 100,
            "over " + std::to_string(seconds) + " s"};
}

void held(sql_world& world, const effort& how, findings& out) {
    const std::size_t count = how.size < 1 ? 2'000 : 10'000;
    const relay between{world.server->port()};
    const auto client = holdfast::open(world.server->url(between.port()));
    std::vector<holdfast::lease> all(count);
    std::atomic<std::size_t> next{0};
    const auto acquiring = by_threads(threads_apart, count, [&](std::size_t) {
        const auto which = next++;
        if (which < count)
            all[which] = holdfast::mutex{client, "held/" + std::to_string(which)}.acquire();
    });
    const auto seen = look(between, how.idle_seconds);
    for (const auto& one : all)
        check(!one || (one.held() && one.remaining() > 15s), "all are held, and were renewed");

    const auto work =
        world.work((count == 10'000 ? "10,000" : "2,000") + std::string{" held leases, ttl 30 s"});
    out.figures.push_back(
        {work, "statements that renewed them all", seen.statements, "", 20.0, seen.over});
    out.figures.push_back(
        {work, "CPU", seen.cpu, "% of a core", {}, seen.over + ", with the relay's"});
    out.figures.push_back(
        {work, "acquiring, each", acquiring.mean_ns / 1000, "µs", {}, "by 64 threads"});
}

/// All for one name, or each for one of its own.
void waiting(sql_world& world, const effort& how, std::size_t names, findings& out) {
    constexpr std::size_t count = 1'000;
    const auto name_of = [&](std::size_t i) { return "awaited/" + std::to_string(i % names); };
    const auto holder = holdfast::open(world.server->url(world.server->port()));
    std::vector<holdfast::lease> taken;
    for (std::size_t i = 0; i < names; ++i)
        taken.push_back(holdfast::mutex{holder, name_of(i)}.acquire());

    const relay between{world.server->port()};
    boost::asio::io_context context{1};
    std::size_t served = 0;
    std::optional client{holdfast::open(world.server->url(between.port()))};
    for (std::size_t i = 0; i < count; ++i)
        holdfast::mutex{*client, name_of(i)}.async_acquire(
            {}, boost::asio::bind_executor(context, [&](holdfast::error_code failed, auto lease) {
                check(!failed && lease.held(), "whoever is served holds it");
                ++served;
            }));
    std::size_t places = 0;
    for (int tries = 0; tries < 3'000 && places < names; ++tries) {
        std::this_thread::sleep_for(20ms);
        places = 0;
        for (const auto& one : holder.inspect())
            places += one.waiters.size();
    }
    check(places >= names, "all have queued up");
    std::this_thread::sleep_for(1s);
    const auto seen = look(between, how.idle_seconds);
    const auto begin = now_ns();
    taken.clear();
    context.run();
    check(served == count, "everybody is served once");

    const auto work = world.work("1,000 waiters, ") + (names == 1 ? "one name" : "a name each");
    out.figures.push_back({work,
                           "connections",
                           static_cast<double>(between.most_lines()),
                           "",
                           4.0,
                           "of one client, at most at once, until all were served"});
    out.figures.push_back({work,
                           "statements while nothing happens",
                           seen.statements / how.idle_seconds,
                           "/ s",
                           {},
                           seen.over});
    out.figures.push_back(
        {work, "CPU", seen.cpu, "% of a core", {}, seen.over + ", with the relay's"});
    out.figures.push_back({work,
                           "until all are served, each",
                           static_cast<double>(now_ns() - begin) / count / 1000,
                           "µs",
                           {},
                           "for scale"});
}

} // namespace

void sql_at_rest(sql_world& world, const effort& how, findings& out) {
    world.place(placed::anywhere);
    held(world, how, out);
    waiting(world, how, 1, out);
    waiting(world, how, 1'000, out);
}

} // namespace bench
