// From one thread to the next: eight threads of one process want one lock all the time.
//
// Held to a bare futex hand-over: eight threads in a ring, each asleep on a word of its own. Of
// ours, only what is passed inside the process is timed here; each 65th time the lease goes back to
// the engine, so that other processes get their turn. The mean includes that.

#include "crew.hpp"
#include "fence_blocks.hpp"
#include "rows.hpp"

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

#include <thread>

namespace bench {
namespace {

template <class Work> sample eight(placed where, baton& what, std::uint64_t wanted, Work work) {
    what.begin(wanted);
    what.last_fence = 0;
    const auto begin = now_ns();
    std::vector<std::thread> all;
    for (std::size_t who = 0; who < crew_size; ++who)
        all.emplace_back([&, who] {
            place(where, who);
            work(who);
        });
    for (auto& one : all)
        one.join();
    return what.result(now_ns() - begin);
}

void measure(const effort& how, placed where, findings& out) {
    place(where);
    const auto client = holdfast::open("sqlite:" + how.directory + "/threads.db");
    holdfast::mutex ours{client, "orders/42"};
    const fence_blocks blocks{ours};
    auto& what = shared<baton>();
    struct alignas(64) word {
        std::atomic<int> up{0};
    } words[crew_size];

    const contender all[] = {
        {"holdfast, passed in the process",
         how.cycles(6000),
         [&](std::uint64_t wanted) {
             return eight(where, what, wanted, [&](std::size_t who) {
                 while (what.over.load() == 0) {
                     auto lease = ours.acquire();
                     const auto fence = lease.fence().value();
                     what.enter(who, fence, blocks.passed(fence));
                     what.leave(who);
                 }
             });
         }},
        {"a bare futex hand-over",
         how.cycles(6000),
         [&](std::uint64_t wanted) {
             words[0].up = 1;
             return eight(where, what, wanted, [&](std::size_t who) {
                 for (;;) {
                     while (words[who].up.load() == 0)
                         futex_wait(words[who].up, 0);
                     words[who].up = 0;
                     what.enter(who, 0);
                     const bool over = what.over.load() != 0;
                     const bool all_know = over && what.over.fetch_add(1) == crew_size;
                     what.leave(who);
                     if (!all_know) {
                         auto& next = words[(who + 1) % crew_size].up;
                         next = 1;
                         futex_wake(next);
                     }
                     if (over)
                         return;
                 }
             });
         }},
    };
    auto standings = compete(all, how.rounds);
    const auto slower = compare(standings[0], standings[1], &sample::p50_ns);
    out.lines.push_back(
        {"local passing, 8 threads", where, std::move(standings), slower, 2.0, "p50", {}});
}

} // namespace

void passing_threads(const effort& how, findings& out) {
    for (const auto where : places())
        measure(how, where, out);
}

} // namespace bench
