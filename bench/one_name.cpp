#include "one_name.hpp"
#include "crew.hpp"
#include "timed.hpp"

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

namespace bench {
namespace {

constexpr std::size_t processes = 2, threads_each = 8, threads_of_one = 64;

/// Not all engines give a lease that is handed on inside a process a fence of its own.
[[nodiscard]] bool passes_keep_fence(const holdfast::client& client) {
    return !client.capabilities().fence_per_pass;
}

/// One process of ours: a client, and threads that want the name until it is over.
class worker {
public:
    worker(const std::string& url, const std::string& name, std::size_t who, baton& what)
        : who_{who}, baton_{what}, client_{holdfast::open(url)}, mutex_{client_, name} {}

    void work() {
        std::vector<float> unused;
        together(threads_each, unused, [this](std::size_t, std::vector<float>&) {
            while (baton_.over.load() == 0) {
                auto lease = mutex_.acquire();
                const auto fence = lease.fence().value();
                const bool kept =
                    baton_.last == who_ && fence == baton_.last_fence && passes_keep_fence(client_);
                baton_.enter(who_, kept ? 0 : fence);
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

/// The counter is protected by nothing but the lock.
sample inside_one(const holdfast::client& client, holdfast::mutex& lock, std::uint64_t cycles) {
    std::uint64_t counter = 0;
    std::int64_t last = 0;
    std::vector<float> latencies;
    const auto took = together(threads_of_one, latencies, [&](std::size_t, auto& notes) {
        for (bool over = false; !over;) {
            const auto begin = now_ns();
            auto lease = lock.acquire();
            const auto fence = lease.fence().value();
            check(fence > last || (fence == last && passes_keep_fence(client)), "the fence grows");
            last = fence;
            over = ++counter >= cycles;
            check(lease.release() == holdfast::release_result::released, "the release is certain");
            notes.push_back(static_cast<float>(now_ns() - begin));
        }
    });
    check(latencies.size() == counter, "the counter under the lock is exact");
    return sample_of(static_cast<double>(took) / static_cast<double>(counter), latencies);
}

} // namespace

void between_processes(const world& here,
                       const effort& how,
                       findings& out,
                       placed where,
                       const std::string& name,
                       const two_of_them& them) {
    if (them.first == nullptr || them.second == nullptr)
        return;
    const std::string work = "one name, 2 processes × 8 threads";
    here.place(where);
    std::string file;
    auto& what = shared<baton>(&file);
    std::optional<worker> me;
    crew ours{where,
              [&](std::size_t who, int) {
                  if (!me)
                      me.emplace(how.url, name, who, what);
                  me->work();
              },
              processes};
    twofold of_ours{what}, of_them{what};
    std::vector<contender> all = {
        {"holdfast, from process to process", how.cycles(200), [&](std::uint64_t n) {
             return of_ours.run(n, [&] { ours.order(0); });
         }}};
    const auto& theirs = them.first->name();
    all.push_back({theirs + ", from process to process", them.hand_offs, [&](std::uint64_t n) {
                       return of_them.run(n, [&] {
                           them.first->tell("share " + file + " 0 8");
                           them.second->tell("share " + file + " 1 8");
                           static_cast<void>(them.first->answer());
                           static_cast<void>(them.second->answer());
                       });
                   }});
    const auto found = here.compete(how, all);
    const auto add = [&](double sample::*of, const char* measure, std::optional<double> at_most) {
        if (at_most)
            out.lines.push_back(
                {work, where, found, compare(found[0], found[1], of), at_most, measure, {}});
    };
    add(&sample::mean_ns, "mean", them.at_most.mean);
    add(&sample::p50_ns, "p50", them.at_most.p50);
    add(&sample::p99_ns, "p99", them.at_most.p99);
    const std::vector<standing> grants = {of_ours.by_grants("holdfast, all grants"),
                                          of_them.by_grants(theirs + ", all grants")};
    out.lines.push_back({"the same, all grants",
                         where,
                         grants,
                         compare(grants[0], grants[1]),
                         them.at_most.grants,
                         "mean",
                         {}});
}

void in_one_process(const world& here,
                    const effort& how,
                    findings& out,
                    placed where,
                    std::uint64_t cycles,
                    const one_of_them& them) {
    here.place(where);
    const auto client = holdfast::open(how.url);
    holdfast::mutex lock{client, "one"};
    std::vector<rival> rivals = {
        {{"holdfast", cycles, [&](std::uint64_t n) { return inside_one(client, lock, n); }}, {}}};
    world::join(rivals, them.who, "one 64", them.cycles, them.at_most);
    here.contest(how, out, "one name, 64 threads of one process", where, rivals);
}

} // namespace bench
