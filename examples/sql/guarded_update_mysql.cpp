// The lock and what it protects in one MySQL or MariaDB database: a transaction of the program's
// own, with one statement more, is committed only if the lease still holds.
//
//   ./guarded_update_mysql mysql://me:password@127.0.0.1/shop

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/mysql.hpp>

#include <iostream>
#include <mysql.h>
#include <string>

bool run(MYSQL* bank, const std::string& statement) {
    if (mysql_query(bank, statement.c_str()) != 0)
        return false;
    mysql_free_result(mysql_store_result(bank));
    return mysql_errno(bank) == 0; // the guard may also fail while its row is read
}

bool connect(MYSQL* bank, const holdfast::sql::options& to) {
    const auto& server = to.servers.front();
    return mysql_real_connect(bank,
                              server.host.c_str(),
                              to.user.c_str(),
                              to.password.c_str(),
                              to.database.c_str(),
                              static_cast<unsigned>(server.port),
                              nullptr,
                              0) != nullptr;
}

// True if it was committed. Until then nobody else can be given the lock: the guard locks its row.
// A statement that fails does not end a transaction here, so what the guard says must be heeded.
bool deposit(MYSQL* bank, int amount, const std::string& name, holdfast::fence fence) {
    run(bank, "START TRANSACTION");
    const bool done = run(bank, holdfast::sql::guard(holdfast::sql::dialect::mysql, name, fence)) &&
                      run(bank, "UPDATE account SET balance = balance + " + std::to_string(amount));
    return run(bank, done ? "COMMIT" : "ROLLBACK") && done;
}

int main(int argc, char** argv) {
    const std::string url = argc > 1 ? argv[1] : "mysql://root@127.0.0.1/test";
    MYSQL* const bank = mysql_init(nullptr);
    if (!connect(bank, holdfast::mysql::options_of(url)) ||
        !run(bank, "DROP TABLE IF EXISTS account") ||
        !run(bank, "CREATE TABLE account (balance BIGINT) ENGINE = InnoDB") ||
        !run(bank, "INSERT INTO account VALUES (0)")) {
        std::cerr << mysql_error(bank) << '\n';
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
    mysql_close(bank);
    return taken && refused ? 0 : 1;
}
