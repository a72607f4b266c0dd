#include "backends/sqlite/log.hpp"
#include "backends/sqlite/connection.hpp"
#include "runtime/fork.hpp"
#include "runtime/quiet_thread.hpp"

#include <system_error>

namespace holdfast::sqlite {

// A log that has been written back begins anew only when a writer finds no reader in it, which
// among many who hand a lock round takes a while: until then it is not done again for each
// transaction. Among those who never pause it would not begin anew at all: once it is huge, they
// are kept out for the moment that the rest of it takes.
void log_keeper::keep(const std::string& path, int pages) {
    constexpr int large = 4000;
    constexpr int huge = 8 * large;
    if (pages < written_back_at_)
        written_back_at_ = 0; // it has begun anew
    if (pages - written_back_at_ < large || busy_->exchange(true))
        return;
    written_back_at_ = pages;
    try {
        detail::quiet_thread([path, pages, busy = busy_] {
            try {
                const detail::not_while_forking whole;
                connection own{path};
                own.execute("PRAGMA wal_checkpoint(PASSIVE)");
                if (pages < huge)
                    return void(*busy = false);
                own.wait_until(after(boot_clock::now(), std::chrono::milliseconds{100}));
                own.execute("PRAGMA wal_checkpoint(RESTART)");
            } catch (const trouble&) {
                // It stays large a little longer; the next transaction tries again.
            }
            *busy = false;
        }).detach();
    } catch (const std::system_error&) {
        *busy_ = false; // no thread to be had now
    }
}

} // namespace holdfast::sqlite
