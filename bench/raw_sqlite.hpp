#pragma once

// The least that a correct lock table in SQLite must do, by hand: the limit that ours is held to.
//
//   acquire   BEGIN IMMEDIATE · is it held? · next fence · insert (name, nonce, fence) · COMMIT
//   release   BEGIN IMMEDIATE · delete by name and nonce, which must hit one row · COMMIT
//
// Same page size, journal and sync mode as ours; prepared statements, one connection. What ours
// does beyond this (bonds and their renewal, waiters, death of processes) is what is being
// measured.

#include <cstdint>
#include <string>

struct sqlite3;
struct sqlite3_stmt;

namespace bench {

class raw_sqlite {
public:
    /// Makes the file if it is not there.
    explicit raw_sqlite(const std::string& path);
    ~raw_sqlite();
    raw_sqlite(const raw_sqlite&) = delete;
    raw_sqlite& operator=(const raw_sqlite&) = delete;

    /// Returns the fence; 0 if it is held.
    [[nodiscard]] std::int64_t acquire(const std::string& name);
    void release(const std::string& name);

private:
    void run(sqlite3_stmt*);
    [[nodiscard]] sqlite3_stmt* prepare(const char* sql);

    sqlite3* db_ = nullptr;
    sqlite3_stmt *begin_, *commit_, *look_, *number_, *insert_, *remove_;
    std::uint64_t nonce_[2]; ///< drawn once, then counted up: as unique, and cheaper than ours
};

} // namespace bench
