// bench_embedded [quick] [ROW…]: locks in a file, held to raw SQLite and to what the kernel can do.

#include "table.hpp"

#include <sqlite3.h>

#include <cstdio>
#include <exception>
#include <filesystem>

namespace {

/// Any engine can do this one: it is told where its locks are.
void held_leases(bench::effort how, bench::findings& out) {
    how.url = "sqlite:" + how.directory + "/locks.db";
    bench::held_leases(how, out);
}

constexpr const char* held_to =
    "- *free*: the scheduler decides. *one CPU*, *two CPUs*: pinned; on two, neighbours in the "
    "queue sit on different ones. Observers: twice as many rounds.\n"
    "- *held to*: the least that anybody would have to do. For SQLite: prepared statements, "
    "`BEGIN IMMEDIATE` … `COMMIT`, look, next fence, insert with a nonce; delete by nonce. Same "
    "page size, WAL, `synchronous=NORMAL`, one connection.\n"
    "- A hand-over counts from before the release until after the next acquire has returned. Those "
    "between processes and those inside one are counted apart, and so is a lock got again by who "
    "had just let it go. p50 and p99 of passes leave out the engine's turns; the mean includes "
    "them.\n"
    "- Every result is checked: fences grow, a plain counter under the lock is exact, each release "
    "is certain.\n";

} // namespace

int main(int argc, char** argv) try {
    const bench::row rows[] = {
        {"uncontended", bench::uncontended},
        {"hand_off", bench::hand_off},
        {"passing_threads", bench::passing_threads},
        {"passing_coroutines", bench::passing_coroutines},
        {"held_leases", held_leases},
        {"queued_waiters", bench::queued_waiters},
        {"observers", bench::observers},
    };
    bench::table table{argc, argv};
    table.measure(rows);
    table.publish({"embedded",
                   "the embedded engine",
                   held_to,
                   std::string{"SQLite "} + sqlite3_libversion() + "; lock files on " +
                       bench::file_system(std::filesystem::current_path())});
    return 0;
} catch (const std::exception& failed) {
    std::fprintf(stderr, "bench: %s\n", failed.what());
    return 1;
}
