// One name that all want all the time: between two processes, and inside one.
//
// Between processes the lock changes hands through the server; what is passed on inside a process
// never gets there. So the two are counted apart: hand-offs by the baton, and all grants together.

#include "crew.hpp"
#include "redis_world.hpp"
#include "timed.hpp"

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

#include <optional>

namespace bench {
namespace {

constexpr std::size_t processes = 2, threads_each = 8, threads_of_one = 64;

/// One process of ours: a client, and threads that want the name until it is over.
class worker {
public:
    worker(const std::string& url, std::size_t who, baton& what)
        : who_{who}, baton_{what}, client_{holdfast::open(url)}, mutex_{client_, "shared"} {}

    void work() {
        std::vector<float> unused;
        together(threads_each, unused, [this](std::size_t, std::vector<float>&) {
            while (baton_.over.load() == 0) {
                auto lease = mutex_.acquire();
                baton_.enter(who_, lease.fence().value());
                baton_.leave(who_);
                check(lease.release() == holdfast::release_result::released,
                      "the release is certain");
            }
        });
    }

private:
    std::size_t who_;
    baton& baton_;
    holdfast::client client_;
    holdfast::mutex mutex_;
};

/// The rounds of one contender, counted in hand-offs, and beside that in grants of any kind.
struct twofold {
    baton& what;
    std::vector<sample> by_grant{};

    template <class Round> sample run(std::uint64_t hand_offs, Round round) {
        what.begin(hand_offs);
        what.last_fence = 0;
        const auto begin = now_ns();
        round();
        const auto took = now_ns() - begin;
        const auto found = what.result(took);
        const auto grant = static_cast<double>(took) / static_cast<double>(what.counter);
        by_grant.push_back({grant, grant, grant});
        return found;
    }
    /// Of the timed rounds: the first was to warm up, the last to count.
    [[nodiscard]] standing by_grants(std::string name) const {
        return standing_of(std::move(name), {by_grant.begin() + 1, by_grant.end() - 1});
    }
};

void between_processes(redis_world& world, const effort& how, placed where, findings& out) {
    const std::string work = "one name, 2 processes × 8 threads";
    world.place(where);
    std::string file;
    auto& what = shared<baton>(&file);
    std::optional<worker> me;
    crew ours{where,
              [&](std::size_t who, int) {
                  if (!me)
                      me.emplace(how.url, who, what);
                  me->work();
              },
              processes};
    twofold of_ours{what}, of_java{what};
    std::vector<contender> all = {
        {"holdfast, from process to process", how.cycles(200), [&](std::uint64_t n) {
             return of_ours.run(n, [&] { ours.order(0); });
         }}};
    if (world.second_redisson)
        all.push_back({"redisson, from process to process", how.cycles(100), [&](std::uint64_t n) {
                           return of_java.run(n, [&] {
                               world.redisson->tell("share " + file + " 0 8");
                               world.second_redisson->tell("share " + file + " 1 8");
                               static_cast<void>(world.redisson->answer());
                               static_cast<void>(world.second_redisson->answer());
                           });
                       }});
    const int servers[] = {world.server.pid()};
    const auto found = compete(all, how.rounds, servers);
    if (found.size() < 2)
        return;
    out.lines.push_back({work, where, found, compare(found[0], found[1]), 1 / 2.0, "mean", {}});
    out.lines.push_back(
        {work, where, found, compare(found[0], found[1], &sample::p99_ns), 0.5, "p99", {}});
    const std::vector<standing> grants = {of_ours.by_grants("holdfast, all grants"),
                                          of_java.by_grants("redisson, all grants")};
    out.lines.push_back({"the same, all grants",
                         where,
                         grants,
                         compare(grants[0], grants[1]),
                         1 / 3.0,
                         "mean",
                         {}});
}

/// All grants, however they come; the counter is protected by nothing but the lock.
sample inside_one(holdfast::mutex& lock, std::uint64_t cycles) {
    std::uint64_t counter = 0;
    std::int64_t last = 0;
    std::vector<float> latencies;
    const auto took = together(threads_of_one, latencies, [&](std::size_t, auto& notes) {
        for (bool over = false; !over;) {
            const auto begin = now_ns();
            auto lease = lock.acquire();
            const auto fence = lease.fence().value();
            check(fence > last, "the fence grows");
            last = fence;
            over = ++counter >= cycles;
            check(lease.release() == holdfast::release_result::released, "the release is certain");
            notes.push_back(static_cast<float>(now_ns() - begin));
        }
    });
    check(latencies.size() == counter, "the counter under the lock is exact");
    return sample_of(static_cast<double>(took) / static_cast<double>(counter), latencies);
}

void in_one_process(redis_world& world, const effort& how, placed where, findings& out) {
    world.place(where);
    const auto client = holdfast::open(how.url);
    holdfast::mutex lock{client, "one"};
    std::vector<rival> rivals = {
        {{"holdfast", how.cycles(5000), [&](std::uint64_t n) { return inside_one(lock, n); }}, {}}};
    world.join(rivals, world.redisson.get(), "one 64", how.cycles(250), 1 / 10.0);
    world.contest(how, out, "one name, 64 threads of one process", where, rivals);
}

} // namespace

void redis_one_name(redis_world& world, const effort& how, findings& out) {
    std::vector<placed> places = {placed::anywhere, placed::one_cpu};
    if (cpus() > 1)
        places.push_back(placed::two_cpus);
    for (const auto where : places)
        between_processes(world, how, where, out);
    for (const auto where : places)
        in_one_process(world, how, where, out);
}

} // namespace bench
