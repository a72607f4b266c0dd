// bench_zookeeper [quick] [ROW…]: locks on ZooKeeper, held to its own C client and to the locks
// that a user would pick instead.

#include "table.hpp"
#include "zookeeper_world.hpp"

#include <cstdio>
#include <exception>
#include <optional>
#include <zookeeper/zookeeper_version.h>

namespace {

/// One world at a time: servers that are not measured would be in the way.
class worlds {
public:
    explicit worlds(bool in_a_hurry) : in_a_hurry_{in_a_hurry} {}

    [[nodiscard]] bench::zookeeper_world& of(std::size_t servers) {
        if (!now_ || now_->servers.running().size() != servers) {
            now_.reset();
            now_.emplace(servers, in_a_hurry_);
            made_with_ = "ZooKeeper " + now_->servers.version() + ", its data on " +
                         bench::file_system(".") + ", over loopback; its C client " ZOO_VERSION;
        }
        return *now_;
    }
    [[nodiscard]] const std::string& made_with() const noexcept { return made_with_; }

private:
    bool in_a_hurry_;
    std::optional<bench::zookeeper_world> now_;
    std::string made_with_;
};

constexpr const char* held_to =
    "- *free*: the scheduler decides. *one CPU*: clients and servers on the same one. *two CPUs*: "
    "the servers on the other one; of two client processes, one on each.\n"
    "- The servers are real ones, on this machine, started for the run with Java's serial "
    "collector and 256 MB, else as they come: data on the disk, and every write forced to it "
    "before it is answered. The three of an ensemble share the disk and the CPUs with all others. "
    "Everybody talks to the same one of them, a follower: told all, each would pick one at random, "
    "and who gets the leader saves a hop.\n"
    "- *held to*: ZooKeeper's C client on one session, with the look-up of addresses in each of "
    "its turns switched off, as we do. *Create + delete* of an ephemeral sequential node is no "
    "lock yet: only a list shows who is first. *Create with list* asks for both at once, as we do; "
    "*create + list + delete* one after the other, as Curator. *Together* deletes while the next "
    "create is under way, since `unlock()` does not wait. *Pipelined* is one thread with all names "
    "on their way at once; *threads* are as many that block.\n"
    "- Curator's InterProcessMutex and kazoo's Lock are the real ones, Curator in the version "
    "that the tests pin, one client per process, with the settings that they come with, but "
    "Curator does not follow changes of the ensemble. Its threads have an object each also where "
    "they want one name: sharing one wakes all of them at every hand-off. Java has run each work "
    "for twenty seconds before the first round.\n"
    "- A hand-off counts from before the release until after the next acquire has returned, in "
    "another process; passes inside one process are counted apart, among all grants.\n"
    "- Every answer is checked: fences grow, each release was certain, a plain counter under the "
    "lock is exact, in Java too.\n"
    "- *Requests* are what the servers say they have received, by cycle or hand-off. Round trips "
    "are counted on the wire, by a relay: how often a client speaks after it was answered.\n"
    "- Client CPU, system calls and switches leave the servers out.\n";

} // namespace

int main(int argc, char** argv) try {
    bench::table table{argc, argv};
    worlds all{table.quick()};
    const auto on = [&](std::size_t servers, auto measure) {
        return [&all, servers, measure](bench::effort how, bench::findings& out) {
            auto& world = all.of(servers);
            how.url = world.servers.url();
            how.size /= servers == 1 ? 1 : 2; // each cycle takes twice as long
            world.place(bench::placed::anywhere);
            measure(world, how, out);
        };
    };
    const bench::row rows[] = {
        {"alone", on(1, bench::zookeeper_alone)},
        {"apart", on(1, bench::zookeeper_apart)},
        {"one_name", on(1, bench::zookeeper_one_name)},
        {"trips", on(1, bench::zookeeper_trips)},
        {"three_alone", on(3, bench::zookeeper_alone)},
        {"three_apart", on(3, bench::zookeeper_apart)},
    };
    table.measure(rows);
    table.publish({"zookeeper", "the ZooKeeper engine", held_to, all.made_with()});
    return 0;
} catch (const std::exception& failed) {
    std::fprintf(stderr, "bench: %s\n", failed.what());
    return 1;
}
