// The lock and what it protects in one PostgreSQL database: a transaction of the program's own,
// with one statement more, commits only if the lease still holds.
//
//   ./guarded_update_postgres postgres://me:password@127.0.0.1/shop

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/sql.hpp>

#include <iostream>
#include <libpq-fe.h>
#include <string>

constexpr auto create = "DROP TABLE IF EXISTS account; CREATE TABLE account (balance bigint);"
                        "INSERT INTO account VALUES (0)";

bool run(PGconn* bank, const std::string& statement) {
    PGresult* const result = PQexec(bank, statement.c_str());
    const auto status = PQresultStatus(result);
    PQclear(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

// True if it was committed. Until then nobody else can be given the lock: the guard locks its row.
bool deposit(PGconn* bank, int amount, const std::string& name, holdfast::fence fence) {
    run(bank, "BEGIN");
    const bool done =
        run(bank, holdfast::sql::guard(holdfast::sql::dialect::postgres, name, fence)) &&
        run(bank, "UPDATE account SET balance = balance + " + std::to_string(amount));
    return run(bank, done ? "COMMIT" : "ROLLBACK") && done;
}

int main(int argc, char** argv) {
    const std::string url = argc > 1 ? argv[1] : "postgres://127.0.0.1/postgres";
    PGconn* const bank = PQconnectdb(url.c_str());
    if (PQstatus(bank) != CONNECTION_OK || !run(bank, create)) {
        std::cerr << PQerrorMessage(bank);
        return 1;
    }
    const std::string name = "account/42";
    holdfast::mutex account{holdfast::open(url), name};

    auto lease = account.acquire();
    const auto early = lease.fence();
    lease.release(); // or it was lost, while this process was asleep

    lease = account.acquire();
    const bool taken = deposit(bank, 100, name, lease.fence());
    const bool refused = !deposit(bank, -100, name, early);
    std::cout << (taken && refused ? "ours counted, the late one was refused\n" : "oh no\n");
    PQfinish(bank);
    return taken && refused ? 0 : 1;
}
