// bench_sql [quick] [ROW…]: locks in databases, held to the statements that a program with the C
// client would have to say at least, and to the locks that a user would pick instead.

#include "sql_world.hpp"
#include "table.hpp"

#include <cstdio>
#include <exception>
#include <optional>

namespace {

using start = std::unique_ptr<bench::sql_server> (*)();

/// One world at a time: a server that is not measured would be in the way.
class worlds {
public:
    [[nodiscard]] bench::sql_world& of(start which) {
        if (!now_ || which_ != which) {
            now_.reset();
            now_.emplace(which());
            which_ = which;
            made_with_ += now_->server->product() + " " + now_->server->version() + ", ";
        }
        return *now_;
    }
    [[nodiscard]] std::string made_with() const {
        return made_with_ + "their data on " + bench::file_system(".") + ", over loopback";
    }

private:
    start which_ = nullptr;
    std::optional<bench::sql_world> now_;
    std::string made_with_;
};

constexpr const char* held_to =
    "- *free*: the scheduler decides. *one CPU*: clients and server on the same one. *two CPUs*: "
    "the server on the other one; of two client processes, one on each.\n"
    "- The servers are real ones, on this machine, started for the run with the settings that they "
    "come with: data on the disk, and every commit forced to it before it is answered "
    "(PostgreSQL's `fsync` and `synchronous_commit`, MariaDB's `innodb_flush_log_at_trx_commit`). "
    "So most of what is measured is the disk; *round by round* that is the same for all.\n"
    "- *held to*: what a program with the C client would have to say at least, each a statement "
    "that is committed by itself: `UPDATE` of one row that has a fence and a lease, and `UPDATE` "
    "to give it back. Prepared by libpq, in text by libmariadb. It has nobody who waits, no "
    "renewal, and holds its connection while it asks.\n"
    "- *as ShedLock*: its two statements on its table, by the same C clients. Where the name is "
    "taken it asks again after ten milliseconds: it knows no waiting.\n"
    "- Python: `pg_advisory_lock` by psycopg2 and `GET_LOCK` by PyMySQL, with a connection for "
    "each thread. They write nothing to the disk, have no fence, and end with their connection.\n"
    "- Every answer is checked: fences grow, each release was certain.\n"
    "- *Requests* are what MariaDB says it was asked, by cycle; PostgreSQL tells too late.\n"
    "- Client CPU, system calls and switches leave the server out.\n";

} // namespace

int main(int argc, char** argv) try {
    bench::table table{argc, argv};
    worlds all;
    const auto on = [&](start which, auto measure) {
        return [&all, which, measure](bench::effort how, bench::findings& out) {
            auto& world = all.of(which);
            how.url = world.server->url(world.server->port());
            world.place(bench::placed::anywhere);
            measure(world, how, out);
        };
    };
    const bench::row rows[] = {
        {"postgres_alone", on(bench::start_postgres, bench::sql_alone)},
        {"postgres_apart", on(bench::start_postgres, bench::sql_apart)},
        {"postgres_one_name", on(bench::start_postgres, bench::sql_one_name)},
        {"postgres_at_rest", on(bench::start_postgres, bench::sql_at_rest)},
        {"mariadb_alone", on(bench::start_mariadb, bench::sql_alone)},
        {"mariadb_apart", on(bench::start_mariadb, bench::sql_apart)},
        {"mariadb_one_name", on(bench::start_mariadb, bench::sql_one_name)},
        {"mariadb_at_rest", on(bench::start_mariadb, bench::sql_at_rest)},
    };
    table.measure(rows);
    table.publish({"sql", "the engines on databases", held_to, all.made_with()});
    return 0;
} catch (const std::exception& failed) {
    std::fprintf(stderr, "bench: %s\n", failed.what());
    return 1;
}
