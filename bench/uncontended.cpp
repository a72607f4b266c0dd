// Acquire and release, alone: what we add to the two transactions of SQLite.

#include "raw_sqlite.hpp"
#include "rows.hpp"
#include "timed.hpp"

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

#include <fcntl.h>
#include <mutex>
#include <sys/file.h>
#include <unistd.h>

namespace bench {
namespace {

void measure(const effort& how, placed where, findings& out) {
    place(where);
    const std::string name = "orders/42";
    const auto client = holdfast::open("sqlite:" + how.directory + "/uncontended.db");
    holdfast::mutex ours{client, name};
    const auto in_memory = holdfast::open("memory:");
    holdfast::mutex without_engine{in_memory, name};
    raw_sqlite raw{how.directory + "/raw.db"};
    const int file = ::open((how.directory + "/flock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    std::mutex plain;
    std::int64_t last = 0, last_in_memory = 0, last_raw = 0;

    const contender all[] = {
        {"holdfast on a file",
         how.cycles(3000),
         [&](std::uint64_t n) { return timed(n, cycle_of(ours, last)); }},
        {"two raw SQLite transactions",
         how.cycles(3000),
         [&](std::uint64_t n) {
             return timed(n, [&] {
                 const auto fence = raw.acquire(name);
                 check(fence > last_raw, "the raw fence grows");
                 last_raw = fence;
                 raw.release(name);
             });
         }},
        {"holdfast in memory (our part of it)",
         how.cycles(20'000),
         [&](std::uint64_t n) { return timed(n, cycle_of(without_engine, last_in_memory)); }},
        {"flock(2)",
         how.cycles(20'000),
         [&](std::uint64_t n) {
             return timed(n, [&] {
                 check(::flock(file, LOCK_EX) == 0, "flock locks");
                 check(::flock(file, LOCK_UN) == 0, "flock unlocks");
             });
         }},
        {"std::mutex",
         how.cycles(1'000'000),
         [&](std::uint64_t n) {
             return timed_by_hundreds(n, [&] {
                 plain.lock();
                 asm volatile("" ::: "memory");
                 plain.unlock();
             });
         }},
    };
    auto standings = compete(all, how.rounds);
    ::close(file);
    // The mean has in it what the neighbours do to whoever writes and syncs: one line each.
    const auto as_usual = compare(standings[0], standings[1], &sample::p50_ns);
    const auto all_in_all = compare(standings[0], standings[1]);
    out.lines.push_back(
        {"uncontended acquire + release", where, standings, as_usual, 1 / 0.8, "p50", {}});
    out.lines.push_back({"the same, with checkpoints",
                         where,
                         {standings[0], standings[1]},
                         all_in_all,
                         1 / 0.8,
                         "mean",
                         {}});
}

} // namespace

void uncontended(const effort& how, findings& out) {
    measure(how, placed::anywhere, out);
    measure(how, placed::one_cpu, out);
}

} // namespace bench
