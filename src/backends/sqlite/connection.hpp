#pragma once

// One SQLite handle: prepared statements, transactions that wait no longer than they may, no
// decisions.
//
//   open ──▶ IDLE ── transaction{until} ──▶ WRITING ── commit() ──▶ IDLE      (a trouble rolls
//   back)
//
// Not thread-safe: whoever uses it has taken its turn (turn.hpp) before.

#include "backends/sqlite/errors.hpp"
#include "backends/sqlite/protocol.hpp"

#include <holdfast/backend.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

struct sqlite3;
struct sqlite3_stmt;

namespace holdfast::sqlite {

/// One run of a prepared statement. Rows count only after next() has said that there are no more:
/// what a statement with RETURNING shows first has not been done yet.
class rows {
public:
    rows(sqlite3* db, sqlite3_stmt* statement) noexcept : db_{db}, statement_{statement} {}
    rows(rows&& other) noexcept
        : db_{other.db_}, statement_{std::exchange(other.statement_, nullptr)}, bound_{
                                                                                    other.bound_} {}
    rows& operator=(rows&&) = delete;
    ~rows();

    [[nodiscard]] bool next();
    void finish();

    template <class Integer>
    requires std::is_integral_v<Integer>
    void bind(Integer value) { bind_number(static_cast<std::int64_t>(value)); }
    void bind(std::string_view); ///< not copied: it must outlive this run
    void bind(const nonce&);     ///< neither
    template <class Enum>
    requires std::is_enum_v<Enum>
    void bind(Enum value) { bind_number(static_cast<std::int64_t>(value)); }
    void bind(instant at) { bind(at.time_since_epoch().count()); }
    void bind(duration length) { bind(length.count()); }
    void bind(fence number) { bind(number.value()); }

    [[nodiscard]] bool is_null(int column) const noexcept;
    [[nodiscard]] std::int64_t number(int column) const noexcept;
    [[nodiscard]] std::string_view text(int column) const noexcept; ///< until the next next()
    [[nodiscard]] holdfast::nonce nonce(int column) const noexcept;
    [[nodiscard]] instant at(int column) const noexcept {
        return instant{duration{number(column)}};
    }
    [[nodiscard]] duration length(int column) const noexcept { return duration{number(column)}; }
    template <class Enum> [[nodiscard]] Enum as(int column) const noexcept {
        return static_cast<Enum>(number(column));
    }

private:
    void bind_number(std::int64_t);
    void check(int code);

    sqlite3* db_;
    sqlite3_stmt* statement_;
    int bound_ = 0;
};

/// Numbers are copied; what has an address is read there.
template <class Value>
inline constexpr bool outlives_a_run =
    std::is_lvalue_reference_v<Value> || !(std::is_convertible_v<Value, std::string_view> ||
                                           std::is_same_v<std::remove_cvref_t<Value>, nonce>);

class connection {
public:
    /// Opens an existing file and reads nothing of it yet.
    explicit connection(const std::string& path);
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    ~connection();

    /// After fork() the handle is the parent's: let go of it without a touch.
    void abandon() noexcept { db_ = nullptr; }

    /// In a forked child, before it opens a file itself: closes what it has of its parent's. SQLite
    /// keeps one account of locks for each file and process, and would believe the child to have
    /// locks that are the parent's. Nobody may be in the middle of anything: see not_while_forking.
    static void close_inherited() noexcept;

    /// How long the write-ahead log was after the last commit, in pages.
    [[nodiscard]] int log_pages() const noexcept { return log_pages_; }

    /// Until when whatever follows may wait for others.
    void wait_until(instant by) noexcept { wait_until_ = by; }

    /// Runs a statement of the protocol: bind in order, then step through its rows.
    template <class... Values> [[nodiscard]] rows ask(query which, Values&&... values) {
        static_assert((outlives_a_run<Values> && ...), "a temporary is gone before the first row");
        rows run{db_, prepared(which)};
        (run.bind(values), ...);
        return run;
    }
    /// As ask(), for statements that answer nothing. Says how many rows it changed.
    template <class... Values> int tell(query which, Values&&... values) {
        ask(which, values...).finish();
        return changed();
    }

    void execute(const std::string& sql);
    [[nodiscard]] std::int64_t ask_number(const std::string& sql);
    [[nodiscard]] std::string ask_text(const std::string& sql);

    [[nodiscard]] bool read_only() const noexcept;
    [[nodiscard]] bool moved() const noexcept;

    /// The first bytes of the file as they are, read through SQLite's own descriptor: closing any
    /// other descriptor of this file would drop the POSIX locks of this whole process.
    [[nodiscard]] std::string first_bytes(std::size_t how_many) const;

    void begin_writing();
    void commit();
    void roll_back() noexcept;

private:
    [[nodiscard]] sqlite3_stmt* prepared(query);
    [[nodiscard]] int changed() const noexcept;
    static int while_busy(void* self, int times) noexcept;
    static int committed(void* self, sqlite3*, const char*, int pages) noexcept;
    void close() noexcept;

    sqlite3* db_ = nullptr;
    instant wait_until_{};
    instant looked_{}; ///< when we last made sure that the path still leads to our file
    std::array<sqlite3_stmt*, query_count> statements_{};
    int log_pages_ = 0;
    const std::uint64_t generation_;
    connection* older_ = nullptr; ///< in the list of all connections
    connection* newer_ = nullptr;
};

/// Others see all of it or nothing. Rolls back unless committed.
class transaction {
public:
    explicit transaction(connection& on) : on_{on} { on_.begin_writing(); }
    transaction(const transaction&) = delete;
    transaction& operator=(const transaction&) = delete;
    ~transaction() {
        if (!done_)
            on_.roll_back();
    }
    void commit() {
        on_.commit();
        done_ = true;
    }

private:
    connection& on_;
    bool done_ = false;
};

} // namespace holdfast::sqlite
