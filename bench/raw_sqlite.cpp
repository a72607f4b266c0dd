#include "raw_sqlite.hpp"
#include "pairs.hpp"

#include <sqlite3.h>

#include <sys/random.h>

namespace bench {

raw_sqlite::raw_sqlite(const std::string& path) {
    check(sqlite3_open_v2(path.c_str(),
                          &db_,
                          SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                          nullptr) == SQLITE_OK,
          "the raw database opens");
    sqlite3_busy_timeout(db_, 10'000);
    check(
        sqlite3_exec(db_,
                     "PRAGMA page_size = 1024; PRAGMA journal_mode = WAL;"
                     "PRAGMA synchronous = NORMAL; PRAGMA secure_delete = OFF;"
                     "CREATE TABLE IF NOT EXISTS counter (one INTEGER PRIMARY KEY, fence INTEGER);"
                     "INSERT OR IGNORE INTO counter VALUES (1, 0);"
                     "CREATE TABLE IF NOT EXISTS holder (name TEXT PRIMARY KEY, nonce BLOB,"
                     " fence INTEGER, granted_at INTEGER) WITHOUT ROWID",
                     nullptr,
                     nullptr,
                     nullptr) == SQLITE_OK,
        "the raw tables are made");
    begin_ = prepare("BEGIN IMMEDIATE");
    commit_ = prepare("COMMIT");
    look_ = prepare("SELECT 1 FROM holder WHERE name = ?1");
    number_ = prepare("UPDATE counter SET fence = fence + 1 WHERE one = 1 RETURNING fence");
    insert_ = prepare("INSERT INTO holder VALUES (?1, ?2, ?3, ?4)");
    remove_ = prepare("DELETE FROM holder WHERE name = ?1 AND nonce = ?2");
    check(::getrandom(nonce_, sizeof nonce_, 0) == sizeof nonce_,
          "the kernel gives random numbers");
}

raw_sqlite::~raw_sqlite() {
    for (auto* s : {begin_, commit_, look_, number_, insert_, remove_})
        sqlite3_finalize(s);
    sqlite3_close(db_);
}

sqlite3_stmt* raw_sqlite::prepare(const char* sql) {
    sqlite3_stmt* made = nullptr;
    check(sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &made, nullptr) == SQLITE_OK,
          "a raw statement is understood");
    return made;
}

void raw_sqlite::run(sqlite3_stmt* s) {
    check(sqlite3_step(s) == SQLITE_DONE, "a raw statement runs");
    sqlite3_reset(s);
}

std::int64_t raw_sqlite::acquire(const std::string& name) {
    const auto size = static_cast<int>(name.size());
    run(begin_);
    sqlite3_bind_text(look_, 1, name.data(), size, SQLITE_STATIC);
    const bool held = sqlite3_step(look_) == SQLITE_ROW;
    sqlite3_reset(look_);
    std::int64_t fence = 0;
    if (!held) {
        check(sqlite3_step(number_) == SQLITE_ROW, "there is a next fence");
        fence = sqlite3_column_int64(number_, 0);
        run(number_);
        ++nonce_[0];
        sqlite3_bind_text(insert_, 1, name.data(), size, SQLITE_STATIC);
        sqlite3_bind_blob(insert_, 2, nonce_, sizeof nonce_, SQLITE_STATIC);
        sqlite3_bind_int64(insert_, 3, fence);
        sqlite3_bind_int64(insert_, 4, now_ns());
        run(insert_);
    }
    run(commit_);
    return fence;
}

void raw_sqlite::release(const std::string& name) {
    run(begin_);
    sqlite3_bind_text(remove_, 1, name.data(), static_cast<int>(name.size()), SQLITE_STATIC);
    sqlite3_bind_blob(remove_, 2, nonce_, sizeof nonce_, SQLITE_STATIC);
    run(remove_);
    check(sqlite3_changes(db_) == 1, "what is released was held");
    run(commit_);
}

} // namespace bench
