// bench_redis [quick] [ROW…]: locks on a Redis server, held to the raw protocol and to the locks
// that a user would pick instead.

#include "raw_redis.hpp"
#include "redis_world.hpp"
#include "table.hpp"

#include <cstdio>
#include <exception>

namespace {

void held_leases(const bench::redis_world& world, const bench::effort& how, bench::findings& out) {
    const auto port = world.server.port();
    static_cast<void>(bench::redis_wire{port}.ask({"FLUSHALL"}));
    bench::held_leases(how, out, [port](std::size_t count) {
        const auto keys = std::stoull(bench::redis_wire{port}.ask({"DBSIZE"}));
        bench::check(keys >= 2 * count, "the server has all of them, each with its last fence");
    });
}

constexpr const char* held_to =
    "- *free*: the scheduler decides. *one CPU*: clients and server on the same one. *two CPUs*: "
    "the server on the other one; of two client processes, one on each.\n"
    "- The server is a real one, on this machine, started for the run. Everybody talks to it over "
    "TCP.\n"
    "- *held to*: the least that anybody would have to do: our own scripts as bytes made "
    "beforehand, a blocking socket, hiredis to read. *Blocking* waits for both answers; *together* "
    "writes the release with the next acquire, since `unlock()` does not wait; *pipelined* is one "
    "thread with all names on their way at once.\n"
    "- Redisson, rueidislock and redsync are the real ones, in the versions pinned in bench/peers, "
    "one client per process, with the settings that they come with, but: rueidislock guards one "
    "key of one server instead of three, and gets 30 s like the others. Java has run each work "
    "for ten seconds and more before the first round. Redisson and rueidislock renew, as we do; "
    "redsync and redis-py do not.\n"
    "- A hand-off counts from before the release until after the next acquire has returned, in "
    "another process; passes inside one process are counted apart, among all grants.\n"
    "- Every reply is checked: fences grow, each release was certain, a plain counter under the "
    "lock is exact, in Java too.\n"
    "- Client CPU, system calls and switches leave the server out.\n";

} // namespace

int main(int argc, char** argv) try {
    bench::table table{argc, argv};
    bench::redis_world world{table.quick()};
    const auto in_it = [&](auto measure) {
        return [&world, measure](bench::effort how, bench::findings& out) {
            how.url = world.server.url();
            world.place(bench::placed::anywhere);
            measure(world, how, out);
        };
    };
    const bench::row rows[] = {
        {"alone", in_it(bench::redis_alone)},
        {"apart", in_it(bench::redis_apart)},
        {"one_name", in_it(bench::redis_one_name)},
        {"held_leases", in_it(held_leases)},
        {"queued", in_it(bench::redis_queued)},
    };
    table.measure(rows);
    table.publish({"redis", "the Redis engine", held_to, world.versions()});
    return 0;
} catch (const std::exception& failed) {
    std::fprintf(stderr, "bench: %s\n", failed.what());
    return 1;
}
