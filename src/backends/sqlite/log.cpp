#include "backends/sqlite/log.hpp"
#include "backends/sqlite/connection.hpp"
#include "runtime/fork.hpp"
#include "runtime/quiet_thread.hpp"
#include "runtime/random.hpp"

#include <system_error>

namespace holdfast::sqlite {
namespace {

constexpr int large = 1000; // pages; as SQLite itself has it
constexpr int huge = 32 * large;

/// `since`: when it was last done. Writers are kept out for no longer than a twentieth of the time.
void write_back(const std::string& path, int pages, duration since) {
    const auto start = boot_clock::now();
    connection own{path};
    own.execute("PRAGMA wal_checkpoint(PASSIVE)");
    const auto took = boot_clock::now() - start;
    if (took > since / 20 && pages < huge)
        return;
    own.wait_until(after(boot_clock::now(), std::chrono::milliseconds{100}));
    own.execute("PRAGMA wal_checkpoint(RESTART)");
}

} // namespace

log_keeper::log_keeper()
    : large_{large + static_cast<int>(detail::kernel_random{}.next() % large)} {}

// If it cannot be written back now, it stays long until it has grown as much again.
void log_keeper::keep(const std::string& path, int pages) {
    if (pages < written_back_at_)
        written_back_at_ = 0; // it has begun anew
    if (pages - written_back_at_ < large_ || busy_->exchange(true))
        return;
    written_back_at_ = pages;
    const auto now = boot_clock::now();
    const auto since = now - std::exchange(written_back_, now);
    try {
        detail::quiet_thread([path, pages, since, busy = busy_] {
            try {
                const detail::not_while_forking whole;
                write_back(path, pages, since);
            } catch (const trouble&) { // somebody else is at it, or the disk is full
            }
            *busy = false;
        }).detach();
    } catch (const std::system_error&) {
        *busy_ = false; // no thread to be had now
    }
}

} // namespace holdfast::sqlite
