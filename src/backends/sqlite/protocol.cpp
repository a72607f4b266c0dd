#include "backends/sqlite/protocol.hpp"
#include "runtime/assert.hpp"

#include <algorithm>

namespace holdfast::sqlite {

// Times are nanoseconds of CLOCK_BOOTTIME; `meta.domain` says of which boot. Rows of idle names do
// not exist: one counter gives fences to all names, so nothing must be remembered of each.
const char* const schema = R"(
CREATE TABLE meta (
    one         INTEGER PRIMARY KEY CHECK (one = 1),
    domain      TEXT    NOT NULL,
    fence_next  INTEGER NOT NULL,
    fence_end   INTEGER NOT NULL
) STRICT;

CREATE TABLE process (
    id                  INTEGER PRIMARY KEY,
    host                TEXT    NOT NULL,
    pid                 INTEGER NOT NULL,
    purpose             TEXT    NOT NULL,
    children_keep_locks INTEGER NOT NULL
) STRICT;

CREATE TABLE bond (
    process    INTEGER NOT NULL,
    id         INTEGER NOT NULL,
    ttl        INTEGER NOT NULL,
    lock_delay INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    shared     INTEGER NOT NULL,
    PRIMARY KEY (process, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE holder (
    name       TEXT    NOT NULL,
    nonce      BLOB    NOT NULL,
    process    INTEGER NOT NULL,
    bond       INTEGER NOT NULL,
    mode       INTEGER NOT NULL,
    fence      INTEGER NOT NULL,
    reserved   INTEGER NOT NULL,
    granted_at INTEGER NOT NULL,
    PRIMARY KEY (name, nonce)
) STRICT, WITHOUT ROWID;

CREATE TABLE waiter (
    name    TEXT    NOT NULL,
    seq     INTEGER NOT NULL,
    nonce   BLOB    NOT NULL,
    process INTEGER NOT NULL,
    bond    INTEGER NOT NULL,
    mode    INTEGER NOT NULL,
    permits INTEGER NOT NULL,
    since   INTEGER NOT NULL,
    PRIMARY KEY (name, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE taken (
    process INTEGER NOT NULL,
    name    TEXT    NOT NULL,
    nonce   BLOB    NOT NULL,
    PRIMARY KEY (process, name, nonce)
) STRICT, WITHOUT ROWID;
)";

std::string_view text_of(query which) noexcept {
    switch (which) {
    case query::begin:
        return "BEGIN IMMEDIATE";
    case query::commit:
        return "COMMIT";

    case query::fences:
        return "SELECT fence_next, fence_end FROM meta WHERE one = 1";
    case query::fence_move:
        return "UPDATE meta SET fence_next = ?1 WHERE one = 1";
    case query::fence_reserve:
        return "UPDATE meta SET fence_end = max(fence_end, fence_next) + ?1";

    case query::glance: // all that a free name needs, in one question
        return "SELECT NOT EXISTS (SELECT 1 FROM holder WHERE name = ?1)"
               " AND NOT EXISTS (SELECT 1 FROM waiter WHERE name = ?1),"
               " m.fence_next, m.fence_end, b.ttl, b.lock_delay, b.expires_at, b.shared"
               " FROM meta m LEFT JOIN bond b ON b.process = ?2 AND b.id = ?3"
               " WHERE m.one = 1";

    case query::holders_of:
        return "SELECT h.nonce, h.process, h.bond, h.mode, h.fence, h.reserved, h.granted_at,"
               " b.ttl, b.lock_delay, b.expires_at, b.shared, p.children_keep_locks"
               " FROM holder h LEFT JOIN bond b ON b.process = h.process AND b.id = h.bond"
               " LEFT JOIN process p ON p.id = h.process WHERE h.name = ?1";
    case query::holder_add:
        return "INSERT OR REPLACE INTO holder VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    case query::holder_remove:
        return "DELETE FROM holder WHERE name = ?1 AND nonce = ?2";
    case query::holder_bond:
        return "SELECT bond FROM holder WHERE name = ?1 AND nonce = ?2";
    case query::holder_rebind:
        return "UPDATE holder SET bond = ?1 WHERE name = ?2 AND nonce = ?3";
    case query::holders_of_bond_remove:
        return "DELETE FROM holder WHERE process = ?1 AND bond = ?2 RETURNING name";

    case query::has_waiters:
        return "SELECT 1 FROM waiter WHERE name = ?1 LIMIT 1";
    case query::waiters_of:
        return "SELECT w.seq, w.nonce, w.process, w.bond, w.mode, w.permits,"
               " b.ttl, b.lock_delay, b.expires_at, b.shared"
               " FROM waiter w LEFT JOIN bond b ON b.process = w.process AND b.id = w.bond"
               " WHERE w.name = ?1 ORDER BY w.seq";
    case query::waiter_after:
        return "SELECT process, nonce FROM waiter WHERE name = ?1 AND seq > ?2 ORDER BY seq LIMIT "
               "1";
    case query::waiter_add:
        return "INSERT INTO waiter VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    case query::waiter_remove:
        return "DELETE FROM waiter WHERE name = ?1 AND nonce = ?2 RETURNING seq, bond";
    case query::waiter_admitted:
        return "DELETE FROM waiter WHERE name = ?1 AND seq = ?2";
    case query::waiter_rebind:
        return "UPDATE waiter SET bond = ?1 WHERE name = ?2 AND seq = ?3";

    case query::bond_find:
        return "SELECT ttl, lock_delay, expires_at, shared FROM bond"
               " WHERE process = ?1 AND id = ?2";
    case query::bond_free_at:
        return "SELECT expires_at + lock_delay FROM bond WHERE process = ?1 AND id = ?2";
    case query::bond_add:
        return "INSERT INTO bond SELECT ?1, ?2, ?3, ?4, ?5, ?6"
               " WHERE EXISTS (SELECT 1 FROM process WHERE id = ?1)";
    case query::bond_prolong:
        return "UPDATE bond SET expires_at = max(expires_at, ?1 + ttl)"
               " WHERE process = ?2 AND id = ?3"
               " RETURNING ttl, lock_delay, expires_at, shared";
    case query::bond_remove:
        return "DELETE FROM bond WHERE process = ?1 AND id = ?2";

    case query::taken_add:
        return "INSERT OR IGNORE INTO taken VALUES (?1, ?2, ?3)";
    case query::taken_of:
        return "SELECT nonce FROM taken t WHERE process = ?1 AND NOT EXISTS"
               " (SELECT 1 FROM holder h WHERE h.name = t.name AND h.nonce = t.nonce)";
    case query::taken_remove:
        return "DELETE FROM taken WHERE process = ?1";

    case query::process_add:
        return "INSERT INTO process VALUES (?1, ?2, ?3, ?4, ?5)";
    case query::process_find:
        return "SELECT host, pid, purpose FROM process WHERE id = ?1";
    case query::process_remove:
        return "DELETE FROM process WHERE id = ?1";
    case query::processes:
        return "SELECT id FROM process";
    case query::bonds_left:
        return "SELECT count(*) FROM bond WHERE process = ?1";
    case query::bonds_of_dead_cut:
        return "UPDATE bond SET expires_at = ?1 WHERE process = ?2 AND (expires_at > ?1 OR EXISTS"
               " (SELECT 1 FROM process WHERE id = ?2 AND children_keep_locks))";
    case query::bonds_over_remove:
        return "DELETE FROM bond WHERE process = ?1 AND expires_at + lock_delay <= ?2";
    case query::process_is_dead:
        return "UPDATE process SET children_keep_locks = 0 WHERE id = ?1";
    case query::holders_over_remove:
        return "DELETE FROM holder WHERE process = ?1 AND NOT EXISTS"
               " (SELECT 1 FROM bond b WHERE b.process = ?1 AND b.id = holder.bond) RETURNING name";
    case query::waiters_of_process_remove:
        return "DELETE FROM waiter WHERE process = ?1 RETURNING name, seq";

    case query::domain:
        return "SELECT domain FROM meta";

    case query::all_holders:
        return "SELECT h.nonce, h.process, h.bond, h.mode, h.fence, h.reserved, h.granted_at,"
               " b.ttl, b.lock_delay, b.expires_at, b.shared, p.children_keep_locks,"
               " h.name, p.host, p.pid, p.purpose"
               " FROM holder h LEFT JOIN bond b ON b.process = h.process AND b.id = h.bond"
               " LEFT JOIN process p ON p.id = h.process ORDER BY h.name, h.granted_at";
    case query::all_waiters:
        return "SELECT w.name, w.process, w.mode, w.since, p.host, p.pid, p.purpose"
               " FROM waiter w LEFT JOIN process p ON p.id = w.process ORDER BY w.name, w.seq";
    case query::none:
        break;
    }
    HOLDFAST_ASSERT(which != query::none, "a query has a text");
    return {};
}

// -------------------------------------------------------------------------------- the decisions

void crowd::add(mode how, const nonce& who) noexcept {
    switch (how) {
    case mode::exclusive:
        ++exclusive_;
        writer_ = who;
        break;
    case mode::shared:
        ++shared_;
        break;
    case mode::permit:
        ++permits_;
        break;
    }
}

bool crowd::admits(mode how, std::uint32_t permits, const nonce* within) const noexcept {
    switch (how) {
    case mode::exclusive:
        return size() == 0;
    case mode::shared:
        return permits_ == 0 && (exclusive_ == 0 || (within != nullptr && *within == writer_));
    case mode::permit:
        return exclusive_ == 0 && shared_ == 0 && permits_ < permits;
    }
    return false;
}

bool shares_bond(const claim& c) noexcept {
    return c.renewal == renewal::automatic && c.lock_delay == duration::zero();
}

instant after(instant from, duration by) noexcept { return by >= never - from ? never : from + by; }

instant free_at(const bond_row& bond) noexcept { return after(bond.expires_at, bond.lock_delay); }

bool is_over(const holder_row& holder, liveness life, instant now) noexcept {
    if (!holder.kept_by)
        return true; // rubbish
    if (holder.children_keep_locks && life == liveness::alive)
        return false;
    return now >= free_at(*holder.kept_by);
}

bool is_frozen(const waiter_row& waiter, instant now) noexcept {
    return !waiter.kept_by || now >= waiter.kept_by->expires_at;
}

bool is_due(const bond_row& bond, instant now) noexcept {
    return bond.expires_at - now < bond.ttl / 3 * 2;
}

bond_terms terms_of(bond_id id, const bond_row& bond) noexcept {
    return {.bond = id, .anchor = bond.expires_at - bond.ttl, .ttl = bond.ttl, .margin = {}};
}

} // namespace holdfast::sqlite
