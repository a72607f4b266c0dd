// A resource that protects itself: it refuses whoever held the lock before the present holder.

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

#include <sqlite3.h>

#include <iostream>

constexpr auto create = "CREATE TABLE account (balance INTEGER, fence INTEGER);"
                        "INSERT INTO account VALUES (0, 0)";
constexpr auto update = "UPDATE account SET balance = balance + ?1, fence = ?2 WHERE fence <= ?2";

// True if the table took it. The fence is checked in the statement itself, not before it.
bool deposit(sqlite3* bank, int amount, holdfast::fence fence) {
    sqlite3_stmt* statement = nullptr;
    sqlite3_prepare_v2(bank, update, -1, &statement, nullptr);
    sqlite3_bind_int(statement, 1, amount);
    sqlite3_bind_int64(statement, 2, fence.value());
    sqlite3_step(statement);
    sqlite3_finalize(statement);
    return sqlite3_changes(bank) == 1;
}

int main() {
    sqlite3* bank = nullptr;
    sqlite3_open(":memory:", &bank);
    sqlite3_exec(bank, create, nullptr, nullptr, nullptr);
    holdfast::mutex account{holdfast::open(), "account/42"};

    auto lease = account.acquire();
    const auto early = lease.fence();
    lease.release(); // or it was lost, while this process was asleep

    lease = account.acquire();
    const bool taken = deposit(bank, 100, lease.fence());
    const bool refused = !deposit(bank, -100, early);
    std::cout << (taken && refused ? "ours counted, the late one was refused\n" : "oh no\n");
    sqlite3_close(bank);
    return taken && refused ? 0 : 1;
}
