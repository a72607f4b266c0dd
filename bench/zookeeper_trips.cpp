// How often a cycle has to wait for the server, counted on the wire: by a relay between the two.

#include "relay.hpp"
#include "timed.hpp"
#include "zookeeper_world.hpp"

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

namespace bench {
namespace {

constexpr const char* what = "round trips of a cycle";

template <class Run> double each(const relay& between, std::uint64_t cycles, Run run) {
    run(cycles); // parents are made, sessions opened
    const auto before = between.trips();
    run(cycles);
    return static_cast<double>(between.trips() - before) / static_cast<double>(cycles);
}

} // namespace

void zookeeper_trips(zookeeper_world& world, const effort& how, findings& out) {
    world.place(placed::anywhere);
    const auto cycles = how.cycles(500);
    const relay between{world.servers.port()};
    const auto address = "127.0.0.1:" + std::to_string(between.port());
    {
        const auto client = holdfast::open("zookeeper://" + address);
        holdfast::mutex ours{client, "trips"};
        std::int64_t last = 0;
        const auto found = each(between, cycles, [&](std::uint64_t n) {
            static_cast<void>(timed(n, cycle_of(ours, last)));
        });
        out.figures.push_back({"acquire + release", what, found, "", 2.05, "holdfast"});
    }
    for (const char* const name : {"curator", "kazoo"})
        if (const auto who = peer::start(name, address)) {
            const auto found = each(between, cycles, [&](std::uint64_t n) {
                static_cast<void>(who->ask("alone " + std::to_string(n)));
            });
            out.figures.push_back({"acquire + release", what, found, "", {}, name});
        }
}

} // namespace bench
