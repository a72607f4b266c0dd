#include "backends/sqlite/connection.hpp"
#include "runtime/assert.hpp"
#include "runtime/fork.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <mutex>
#include <sched.h>
#include <utility>

namespace holdfast::sqlite {
namespace {

[[noreturn]] void fail(sqlite3* db, int code, applied effect = applied::no) {
    const int extended = db != nullptr ? sqlite3_extended_errcode(db) : code;
    // The handle may have forgotten already what went wrong; then the code speaks for itself.
    const bool same = (extended & 0xff) == (code & 0xff);
    const std::string words = same && db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code);
    throw trouble{same ? extended : code, "SQLite: " + words, effect};
}

void pause_for(duration length) noexcept {
    timespec ts{};
    ts.tv_sec = length.count() / 1'000'000'000;
    ts.tv_nsec = length.count() % 1'000'000'000;
    ::nanosleep(&ts, nullptr);
}

} // namespace

// ---------------------------------------------------------------------------------------- rows

rows::~rows() {
    sqlite3_reset(statement_); // what it reports was thrown when it happened
}

void rows::check(int code) {
    if (code != SQLITE_OK)
        fail(db_, code);
}

bool rows::next() {
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_ROW)
        return true;
    if (code != SQLITE_DONE)
        fail(db_, code);
    return false;
}

void rows::finish() {
    while (next()) {
    }
}

void rows::bind_number(std::int64_t value) {
    check(sqlite3_bind_int64(statement_, ++bound_, value));
}

void rows::bind(std::string_view text) {
    check(sqlite3_bind_text64(
        statement_, ++bound_, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8));
}

void rows::bind(const holdfast::nonce& value) {
    check(sqlite3_bind_blob64(
        statement_, ++bound_, value.bytes.data(), value.bytes.size(), SQLITE_STATIC));
}

bool rows::is_null(int column) const noexcept {
    return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

std::int64_t rows::number(int column) const noexcept {
    return sqlite3_column_int64(statement_, column);
}

std::string_view rows::text(int column) const noexcept {
    const void* data = sqlite3_column_blob(statement_, column); // as blob: a text may contain NUL
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
    return data == nullptr ? std::string_view{}
                           : std::string_view{static_cast<const char*>(data), size};
}

holdfast::nonce rows::nonce(int column) const noexcept {
    holdfast::nonce value;
    const auto bytes = text(column);
    std::memcpy(value.bytes.data(), bytes.data(), std::min(bytes.size(), value.bytes.size()));
    return value;
}

// ---------------------------------------------------------------------------------- connection

namespace {

constinit std::mutex all_guard;
constinit connection* newest = nullptr;

} // namespace

connection::connection(const std::string& path) : generation_{detail::fork_generation()} {
    const int code =
        sqlite3_open_v2(path.c_str(),
                        &db_,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
                        nullptr);
    if (code != SQLITE_OK) {
        const std::string words = db_ != nullptr ? sqlite3_errmsg(db_) : sqlite3_errstr(code);
        sqlite3_close(db_);
        throw trouble{code, "SQLite: " + words};
    }
    sqlite3_busy_handler(db_, &while_busy, this);
    // Closing neither writes the log back (that costs three syncs; whoever fills the log next does
    // it) nor deletes it (its next maker might be a user whose files the others cannot open).
    int keep = 1;
    sqlite3_file_control(db_, "main", SQLITE_FCNTL_PERSIST_WAL, &keep);
    sqlite3_db_config(db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    sqlite3_wal_hook(db_, &committed, this); // instead of writing the log back inside a commit

    const std::lock_guard lock{all_guard};
    older_ = std::exchange(newest, this);
    if (older_ != nullptr)
        older_->newer_ = this;
}

connection::~connection() {
    {
        const std::lock_guard lock{all_guard};
        (newer_ != nullptr ? newer_->older_ : newest) = older_;
        if (older_ != nullptr)
            older_->newer_ = newer_;
    }
    close();
}

void connection::close() noexcept {
    if (db_ == nullptr)
        return;
    for (auto& statement : statements_)
        sqlite3_finalize(std::exchange(statement, nullptr));
    sqlite3_close(std::exchange(db_, nullptr));
}

void connection::close_inherited() noexcept {
    const std::lock_guard lock{all_guard};
    for (auto* each = newest; each != nullptr; each = each->older_)
        if (each->generation_ != detail::fork_generation())
            each->close();
}

int connection::committed(void* self, sqlite3*, const char*, int pages) noexcept {
    static_cast<connection*>(self)->log_pages_ = pages;
    return SQLITE_OK;
}

// Called while somebody else writes. Their transactions take some ten microseconds, so at first
// only let them run; then sleep, longer and longer, but never beyond the time we have.
int connection::while_busy(void* self, int times) noexcept {
    constexpr duration shortest = std::chrono::microseconds{20};
    constexpr duration longest = std::chrono::milliseconds{1};
    const auto left = static_cast<connection*>(self)->wait_until_ - boot_clock::now();
    if (left <= duration::zero())
        return 0;
    if (times < 2)
        ::sched_yield();
    else
        pause_for(std::min({shortest * (1 << std::min(times - 2, 8)), longest, left}));
    return 1;
}

sqlite3_stmt* connection::prepared(query which) {
    auto& statement = statements_[static_cast<std::size_t>(which)];
    if (statement == nullptr) {
        const auto sql = text_of(which);
        const int code = sqlite3_prepare_v3(db_,
                                            sql.data(),
                                            static_cast<int>(sql.size()),
                                            SQLITE_PREPARE_PERSISTENT,
                                            &statement,
                                            nullptr);
        if (code != SQLITE_OK)
            fail(db_, code);
    }
    return statement;
}

int connection::changed() const noexcept { return sqlite3_changes(db_); }

void connection::execute(const std::string& sql) {
    const int code = sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr);
    if (code != SQLITE_OK)
        fail(db_, code);
}

namespace {

/// A statement used once, for what is asked when a file is opened or examined.
class passing_statement {
public:
    passing_statement(sqlite3* db, const std::string& sql) {
        const int code = sqlite3_prepare_v2(db, sql.c_str(), -1, &statement_, nullptr);
        if (code != SQLITE_OK)
            fail(db, code);
    }
    passing_statement(const passing_statement&) = delete;
    passing_statement& operator=(const passing_statement&) = delete;
    ~passing_statement() { sqlite3_finalize(statement_); }
    [[nodiscard]] sqlite3_stmt* get() const noexcept { return statement_; }

private:
    sqlite3_stmt* statement_ = nullptr;
};

} // namespace

std::int64_t connection::ask_number(const std::string& sql) {
    const passing_statement statement{db_, sql};
    rows run{db_, statement.get()};
    return run.next() ? run.number(0) : 0;
}

std::string connection::ask_text(const std::string& sql) {
    const passing_statement statement{db_, sql};
    rows run{db_, statement.get()};
    return run.next() ? std::string{run.text(0)} : std::string{};
}

bool connection::read_only() const noexcept { return sqlite3_db_readonly(db_, "main") != 0; }

bool connection::moved() const noexcept {
    int moved = 0;
    sqlite3_file_control(db_, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    return moved != 0;
}

std::string connection::first_bytes(std::size_t how_many) const {
    sqlite3_file* file = nullptr;
    sqlite3_file_control(db_, "main", SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&file));
    HOLDFAST_ASSERT(file != nullptr && file->pMethods != nullptr, "an open connection has a file");
    sqlite3_int64 size = 0;
    int code = file->pMethods->xFileSize(file, &size);
    if (code != SQLITE_OK)
        fail(nullptr, code);
    std::string bytes(std::min(how_many, static_cast<std::size_t>(size)), '\0');
    if (bytes.empty())
        return bytes;
    code = file->pMethods->xRead(file, bytes.data(), static_cast<int>(bytes.size()), 0);
    if (code != SQLITE_OK)
        fail(nullptr, code);
    return bytes;
}

// IMMEDIATE: a reader that wants to become a writer later is turned away without waiting.
void connection::begin_writing() {
    constexpr duration often_enough = std::chrono::milliseconds{10};
    ask(query::begin).finish();
    const auto now = boot_clock::now();
    if (now - looked_ < often_enough)
        return;
    looked_ = now;
    if (moved()) {
        roll_back();
        throw file_moved{SQLITE_IOERR,
                         "the lock file was moved, deleted or replaced while it was in use"};
    }
}

// A commit that failed has normally not happened, and the rollback makes sure. Only when the disk
// itself answered with an error do we not know what a later recovery will find there.
void connection::commit() {
    rows run{db_, prepared(query::commit)};
    try {
        run.finish();
    } catch (const trouble& what) {
        const bool disk = (what.code() & 0xff) == SQLITE_IOERR;
        throw trouble{what.code(), what.what(), disk ? applied::maybe : applied::no};
    }
}

void connection::roll_back() noexcept {
    if (sqlite3_get_autocommit(db_) != 0) // some errors have rolled back already
        return;
    sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
}

} // namespace holdfast::sqlite
