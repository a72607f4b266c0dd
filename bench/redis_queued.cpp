// Ten thousand waiters for one name, in four processes: what they ask the server while nothing
// happens, and how often each process asks when the name is let go.
//
// The server itself tells: INFO commandstats counts every command, also those inside scripts. A
// release publishes once; what else is run as a script is an attempt, or a renewal.

#include "crew.hpp"
#include "raw_redis.hpp"
#include "redis_world.hpp"

#include <holdfast/async.hpp>
#include <holdfast/client.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <memory>
#include <thread>

namespace bench {
namespace {

namespace asio = boost::asio;

constexpr std::size_t processes = 4;
enum order : int { queue_up, be_served };

/// One of the four.
struct waiters {
    holdfast::client client;
    asio::io_context context{1};
    std::size_t served = 0;

    waiters(const std::string& url, std::size_t count) : client{holdfast::open(url)} {
        for (std::size_t i = 0; i < count; ++i)
            holdfast::mutex{client, "queued"}.async_acquire(
                {}, asio::bind_executor(context, [this](holdfast::error_code failed, auto lease) {
                    check(!failed && lease.held(), "whoever is served holds it");
                    ++served;
                }));
    }
    void be_served(std::size_t count) {
        context.run();
        check(served == count, "everybody is served once");
    }
};

/// How often each command was done between two looks; our own looking left out.
struct traffic {
    std::map<std::string, std::int64_t> before, after;

    [[nodiscard]] double of(const std::string& command) const {
        const auto count = [&](const auto& all) {
            const auto found = all.find(command);
            return found == all.end() ? 0 : found->second;
        };
        return static_cast<double>(count(after) - count(before));
    }
    [[nodiscard]] double all() const {
        double total = 0;
        for (const auto& [command, _] : after)
            total += command == "info" ? 0 : of(command);
        return total;
    }
};

} // namespace

void redis_queued(redis_world& world, const effort& how, findings& out) {
    const auto each = how.size < 1 ? std::size_t{500} : std::size_t{2'500};
    const std::string work =
        (each == 2'500 ? "10,000" : "2,000") + std::string{" waiters for one name, 4 processes"};
    std::unique_ptr<waiters> mine;
    crew all{placed::anywhere,
             [&](std::size_t, int what) {
                 if (what == queue_up)
                     mine = std::make_unique<waiters>(how.url, each);
                 else
                     mine->be_served(each);
             },
             processes};
    redis_wire wire{world.server.port()};
    const auto client = holdfast::open(how.url);
    auto held = holdfast::mutex{client, "queued"}.acquire();
    all.order(queue_up);
    std::this_thread::sleep_for(std::chrono::seconds{1}); // all have asked, and listen

    traffic idle{commands_done(wire), {}}, serving;
    const int servers[] = {world.server.running().pid()};
    const auto begin = now_ns();
    double cpu = 0;
    {
        const counting at_rest{servers};
        std::this_thread::sleep_for(std::chrono::seconds{how.idle_seconds});
        cpu = at_rest.read().cpu_ns;
    }
    const auto took = static_cast<double>(now_ns() - begin);
    idle.after = serving.before = commands_done(wire);
    check(held.release() == holdfast::release_result::released, "the release is certain");
    const auto served_in = static_cast<double>(all.order(be_served));
    serving.after = commands_done(wire);

    const auto scripts = [](const traffic& t) { return t.of("evalsha") + t.of("eval"); };
    const auto releases = serving.of("publish");
    const auto attempts = scripts(serving) - releases;
    const auto over = "over " + std::to_string(how.idle_seconds) + " s";
    out.figures.push_back({work,
                           "attempts per release and process",
                           attempts / releases / static_cast<double>(processes),
                           "",
                           1.0,
                           std::to_string(static_cast<int>(attempts)) + " attempts, " +
                               std::to_string(static_cast<int>(releases)) + " releases"});
    out.figures.push_back({work,
                           "scripts while nothing happens",
                           scripts(idle) / took * 1e9,
                           "/ s",
                           1.0,
                           over + ", of all together"});
    out.figures.push_back({work,
                           "commands while nothing happens",
                           idle.all() / took * 1e9,
                           "/ s",
                           std::nullopt,
                           over + ", with those inside scripts"});
    out.figures.push_back(
        {work, "client CPU", cpu / took * 100, "% of a core", 1.0, over + ", with idle peers"});
    out.figures.push_back({work,
                           "until all are served, each",
                           served_in / static_cast<double>(each * processes) / 1000,
                           "µs",
                           std::nullopt,
                           "for scale"});
}

} // namespace bench
