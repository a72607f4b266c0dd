#pragma once

// What is in the file, what is said to it, and the decisions that need neither file nor clock.
//
//   process ──1:n── bond ──1:n── line (name, place, nonce)   who holds (place 0), and who waits
//        │
//        └── <path>.d/<id>.live, <id>.wake                whether it lives; how to wake it
//   taken (process, name, nonce): what an operator took away and its process may not have heard of
//   line '': nobody's; the next fence, and how many are reserved on disk from there
//   meta: the clock domain
//
// Invariants, true after each transaction:
//   · a holder whose bond is not there holds nothing; its row is rubbish;
//   · the holders of a name go together: one exclusive (and readers within it), or readers, or
//   permits; · the first waiter that can be served has been: nobody waits for a free name, unless
//   frozen; · every fence handed out is below counter.reserved_to, which is on the disk.

#include <holdfast/backend.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace holdfast::sqlite {

// -------------------------------------------------------------------------------- what is in it

inline constexpr std::int32_t application_id = 0x686f6c64; // "hold", at byte 68 of the file
inline constexpr std::int64_t schema_version = 3;          // PRAGMA user_version
inline constexpr std::int64_t reserved_passes = 64;        // fences that come along with each grant
inline constexpr std::int64_t fence_block = 1 << 24;       // fences reserved by one synced write

/// Everything a new file needs, but for the row of `meta`.
extern const char* const schema;

/// A client that opened the file. Drawn at random, never used again.
enum class process_id : std::int64_t {};

struct bond_row {
    duration ttl{};
    duration lock_delay{};
    instant expires_at{};
    bool shared = true; ///< shared by all grants of its process with this ttl; else of one grant
    bool children_keep_it = false; ///< for as long as they live
};

struct holder_row {
    holdfast::nonce nonce;
    process_id process{};
    bond_id bond{};
    holdfast::mode mode = mode::exclusive;
    holdfast::fence fence;
    std::uint32_t reserved = 0;
    instant granted_at{};
    std::optional<bond_row> kept_by; ///< nothing: the row is rubbish
};

struct waiter_row {
    std::int64_t place = 0;
    holdfast::nonce nonce;
    process_id process{};
    bond_id bond{};
    holdfast::mode mode = mode::exclusive;
    std::uint32_t permits = 1;
    std::optional<bond_row> kept_by;
};

// ------------------------------------------------------------------------------ what is said to it

enum class query : std::uint8_t {
    begin,
    commit,

    fences,        ///< → the next one, and the end of those reserved
    fence_take,    ///< how many
    fence_reserve, ///< block size, and what the new end must lie above

    glance, ///< name, process, bond → whether nobody holds it or waits for it, fences, bond_row

    holders_of,             ///< name → holder_row
    holder_add,             ///< name, nonce, process, bond, mode, fence, reserved, granted_at
    holder_remove,          ///< name, nonce
    holder_bond,            ///< name, nonce → bond
    holder_rebind,          ///< bond, name, nonce
    holder_refence,         ///< fence, name, nonce
    holders_of_bond_remove, ///< process, bond → name

    has_waiters,          ///< name → a row if so
    waiters_of,           ///< name → waiter_row, in order
    waiters_from_the_end, ///< name → waiter_row, the last one first
    queue_size,           ///< name, nonce → how many wait; whether this one is among them
    waiter_after,         ///< name, place → process, nonce
    waiter_add,           ///< name, place, nonce, process, bond, mode, permits, since
    waiter_remove,        ///< name, nonce → place, bond
    waiter_admitted,      ///< name, place, nonce
    waiter_rebind,        ///< bond, name, place

    bond_find,    ///< process, bond → bond_row
    bond_add,     ///< process, bond, bond_row; none if we are unknown
    bond_prolong, ///< now, process, bond → as bond_find
    bond_free_at, ///< process, bond → when it keeps nobody out any more
    bond_remove,  ///< process, bond

    taken_add,    ///< process, name, nonce
    taken_of,     ///< process → nonce, of those that were not granted again
    taken_remove, ///< process

    process_add,               ///< id, host, pid, purpose
    process_find,              ///< id → host, pid, purpose
    process_remove,            ///< id
    processes,                 ///< → id
    bonds_left,                ///< process → how many
    bonds_of_dead_cut,         ///< now, process: their lock delay begins now
    bonds_over_remove,         ///< process, now
    holders_over_remove,       ///< process → name, of those whose bond is gone
    waiters_of_process_remove, ///< process → name, place

    domain, ///< → the clock domain the times in this file belong to

    all_holders, ///< → name, holder_row …, host, pid, purpose
    all_waiters, ///< → name, mode, since, host, pid, purpose, process
    none,        // not a query: their number
};
inline constexpr std::size_t query_count = static_cast<std::size_t>(query::none);

[[nodiscard]] std::string_view text_of(query) noexcept;

// -------------------------------------------------------------------------------- the decisions

/// Whether a process lives, as far as the kernel tells.
enum class liveness : std::uint8_t { alive, dead, unknown };

/// Those who hold one name, as far as it matters to the next.
class crowd {
public:
    void add(mode, const nonce&) noexcept;
    [[nodiscard]] bool
    admits(mode, std::uint32_t permits, const nonce* within = nullptr) const noexcept;
    /// Nobody who waits can be served beside them.
    [[nodiscard]] bool excludes_all() const noexcept { return exclusive_ > 0; }
    [[nodiscard]] std::size_t size() const noexcept { return exclusive_ + shared_ + permits_; }

private:
    std::size_t exclusive_ = 0, shared_ = 0, permits_ = 0;
    nonce writer_; // the exclusive one
};

/// Whether its grant lives on the bond that all such claims of one process share. What is kept back
/// for a while after a loss needs a bond of its own, which others do not prolong.
[[nodiscard]] bool shares_bond(const claim&) noexcept;

/// Adds without running over the end of time.
[[nodiscard]] instant after(instant, duration) noexcept;

/// When a lease that is not renewed stops keeping others out.
[[nodiscard]] instant free_at(const bond_row&) noexcept;

/// Whether time alone has ended this holder. A process whose children keep its locks has to be
/// dead.
[[nodiscard]] bool is_over(const holder_row&, liveness, instant now) noexcept;

/// Whether this waiter is so late with asking again that it is passed over: frozen, or worse.
[[nodiscard]] bool is_frozen(const waiter_row&, instant now) noexcept;

/// Whether a bond is renewed along the way: when a third of its life has gone.
[[nodiscard]] bool is_due(const bond_row&, instant now) noexcept;

/// What the core may believe: the engine counts from expires_at - ttl, on the clock we share.
[[nodiscard]] bond_terms terms_of(bond_id, const bond_row&) noexcept;

} // namespace holdfast::sqlite
