#pragma once

// What is in the database, and what is said to it. Each statement is one round trip and one
// transaction, whatever it takes in a dialect.
//
//   lock (name)          one row for each name, kept while it may be wanted: its last fence, who
//                        holds it alone, and how many share it
//   line (name, nonce)   who shares it (place 0), who waits (place > 0, in this order), and from
//                        whom an operator took it (place -1)
//   bond (id)            what keeps holders and places: until when, how often it was renewed, and
//                        whose it is. Renewing touches nothing else: 10,000 leases are one row
//
// Invariants, true after each transaction:
//   · who holds or waits under a bond that is not there does neither: his row is rubbish;
//   · lock.shared and lock.permits count the rows of place 0; what changes a name's rows in `line`
//     changes lock.version;
//   · lock.waiters is 0 only if nobody waits, and below 2 only if nobody waits who must not be
//     overtaken;
//   · a grant to one alone has a larger fence than all before it: passes included, which come after
//     it one by one.
//
// A lock row is what a user's own transaction may lock (the guard). So a statement that changes one
// waits a moment for it, and then fails.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace holdfast::relational {

inline constexpr std::int64_t schema_version = 1;
inline constexpr std::int64_t reserved_passes = 64; // fences that come along with each grant
inline constexpr int waiters_shown = 8;             // how many of them look() tells of

/// Bits of lock.waiters.
inline constexpr std::int64_t somebody_waits = 1;
inline constexpr std::int64_t fair_ones_wait = 2;

enum class query : std::uint8_t {
    make_row,     ///< name: for what is done to a name that nobody has wanted yet
    take,         ///< name, nonce, bond → fence, waiters; alone, if nobody is in the way
    retake,       ///< the same, of a name whose row was there: a smaller statement, and nothing if
                  ///< it is ours already
    take_beside,  ///< name, nonce, bond, client, mode, permits, within → fence, waiters
    join,         ///< name, nonce, bond, client, mode, permits, waiters, 1: take it if it is free
                  ///< → fence, waiters, 1: another has it alone. No fence: we have a place
    look,         ///< name, nonce → view.hpp reads it
    admit,        ///< name, nonce, bond, version or -1, waiters → fence, waiters; alone
    admit_beside, ///< name, nonce, bond, client, mode, version, waiters, within → fence, waiters
    release,      ///< name, nonce, own bond, only if this keeps it (0: whatever does)
                  ///< → version, waiters, bell
    release_unwanted, ///< name, nonce → the same: a smaller statement, and perhaps nothing if
                      ///< somebody waits
    leave,            ///< name, nonce, only if this keeps it → version, waiters, bell
    next_in_line, ///< name → version, waiters, bell: of the first who waits, if somebody does.
                  ///< Where it can be done in the same statement, he has been woken
    calm,         ///< name, version: nobody waits

    bond_add,     ///< id, client, ttl, lock delay, bell, host, pid, purpose → id
    bond_keep,    ///< id → id
    bond_end,     ///< id, renewals → id, if it has not been renewed since
    bonds_renew,  ///< ids → id, nonce: those that are there, and what was taken from them
    bonds_remove, ///< ids
    bell_hang,    ///< client, bell: how to wake whoever waits under its bonds
    rung_for,     ///< client → nonce: whose turn it may be

    raise_fence,       ///< name, nonce, at least → fence
    force_release,     ///< name → how many held it
    taken_from,        ///< client → nonce: what an operator took, and its holder may not know
    taken_told,        ///< nonce: now he does
    parties,           ///< → now, name, mode, fence, since, bond …, place: who holds, who waits
    idle_bonds,        ///< → now, bond …: those that are over by the server's clock
    idle_lines_remove, ///< of those who wait no more
    idle_locks_remove, ///< age: rows of names that nobody has wanted for so long

    none, // not a query: their number
};
inline constexpr std::size_t query_count = static_cast<std::size_t>(query::none);

/// What is said where the server itself keeps others out (front.hpp); with a name written into it.
enum class front_query : std::uint8_t {
    try_session, ///< 1: won
    end_session,
    make_row,
    try_row, ///< 1: won; begins a transaction
};

/// Bytes that are no text.
struct octets {
    std::string raw;
};
/// Numbers among which one is looked for.
struct one_of {
    std::vector<std::int64_t> ids;
};
using parameter = std::variant<std::int64_t, std::string, octets, one_of>;

/// One of the queries, or any other text.
struct statement {
    query what = query::none;
    std::string text{}; ///< only if it is none of them
    std::vector<parameter> with{};
};

/// What came back.
class table {
public:
    explicit table(std::size_t columns = 0) : columns_{columns} {}
    void add(std::optional<std::string> cell) { cells_.push_back(std::move(cell)); }

    [[nodiscard]] std::size_t rows() const noexcept {
        return columns_ == 0 ? 0 : cells_.size() / columns_;
    }
    [[nodiscard]] bool empty() const noexcept { return cells_.empty(); }
    [[nodiscard]] bool is_null(std::size_t row, std::size_t column) const {
        return !at(row, column);
    }
    /// Nothing and what is no number is 0.
    [[nodiscard]] std::int64_t number(std::size_t row, std::size_t column) const noexcept;
    [[nodiscard]] std::string_view text(std::size_t row, std::size_t column) const;

private:
    [[nodiscard]] const std::optional<std::string>& at(std::size_t row, std::size_t column) const;

    std::size_t columns_;
    std::vector<std::optional<std::string>> cells_;
};

/// The same for a name in each process, and hardly ever for two.
[[nodiscard]] std::uint64_t number_of_name(std::string_view table, std::string_view name) noexcept;

[[nodiscard]] std::string hex_of(std::string_view raw);

/// Puts words in the place of {words}: the names of the tables, and what a dialect says of its own.
[[nodiscard]] std::string
filled(std::string_view text, std::string_view prefix, std::string_view now);

/// What both dialects say in the same words; with {words} in it. Empty for what they do not.
[[nodiscard]] std::string_view common_text(query) noexcept;

} // namespace holdfast::relational
