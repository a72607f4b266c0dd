// A resource that protects itself: it refuses whoever held the lock before the present holder.

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

#include <iostream>
#include <sqlite3.h>

// True if the table took it. The fence is checked in the statement itself, not before it.
bool deposit(sqlite3* bank, int amount, holdfast::fence fence) {
    sqlite3_stmt* update = nullptr;
    sqlite3_prepare_v2(bank,
                       "UPDATE account SET balance = balance + ?1, fence = ?2"
                       " WHERE id = 42 AND fence <= ?2",
                       -1, &update, nullptr);
    sqlite3_bind_int(update, 1, amount);
    sqlite3_bind_int64(update, 2, fence.value());
    sqlite3_step(update);
    sqlite3_finalize(update);
    return sqlite3_changes(bank) == 1;
}

int main() {
    sqlite3* bank = nullptr;
    sqlite3_open(":memory:", &bank);
    sqlite3_exec(bank,
                 "CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER, fence INTEGER);"
                 "INSERT INTO account VALUES (42, 0, 0)",
                 nullptr, nullptr, nullptr);
    holdfast::mutex account{holdfast::open(), "account/42"};

    auto lease = account.acquire();
    const auto early = lease.fence();
    lease.release(); // or it was lost, while this process was asleep

    lease = account.acquire();
    const bool taken = deposit(bank, 100, lease.fence());
    const bool refused = !deposit(bank, -100, early);
    std::cout << "ours " << (taken ? "counted" : "lost") << ", the late one "
              << (refused ? "refused" : "counted") << '\n';
    sqlite3_close(bank);
    return taken && refused ? 0 : 1;
}
