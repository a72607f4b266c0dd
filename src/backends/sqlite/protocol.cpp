#include "backends/sqlite/protocol.hpp"
#include "runtime/assert.hpp"

#include <algorithm>

namespace holdfast::sqlite {

// Times are nanoseconds of CLOCK_BOOTTIME; `meta.domain` says of which boot. Rows of idle names do
// not exist: one counter gives fences to all names, so nothing must be remembered of each.
//
// Holders, waiters and the counter stand in one table, so that a lock changes hands on one page, as
// long as not many are held: pages that are written, and read again by the next process, are what a
// transaction costs. Who reads it says `holder`, `waiter` and `counter`; who writes says `line`.
const char* const schema = R"(
CREATE TABLE meta (
    one    INTEGER PRIMARY KEY CHECK (one = 1),
    domain TEXT    NOT NULL
) STRICT;

CREATE TABLE process (
    id      INTEGER PRIMARY KEY,
    host    TEXT    NOT NULL,
    pid     INTEGER NOT NULL,
    purpose TEXT    NOT NULL
) STRICT;

CREATE TABLE bond (
    process          INTEGER NOT NULL,
    id               INTEGER NOT NULL,
    ttl              INTEGER NOT NULL,
    lock_delay       INTEGER NOT NULL,
    expires_at       INTEGER NOT NULL,
    shared           INTEGER NOT NULL,
    children_keep_it INTEGER NOT NULL,
    PRIMARY KEY (process, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE line (
    name     TEXT    NOT NULL, -- '': nobody's, who has all fences that are not handed out yet
    place    INTEGER NOT NULL, -- 0: holds it; else waits, in this order
    nonce    BLOB    NOT NULL,
    process  INTEGER NOT NULL,
    bond     INTEGER NOT NULL,
    mode     INTEGER NOT NULL,
    permits  INTEGER NOT NULL,
    fence    INTEGER NOT NULL,
    reserved INTEGER NOT NULL, -- how many fences come along with this one
    since    INTEGER NOT NULL,
    PRIMARY KEY (name, place, nonce)
) STRICT, WITHOUT ROWID;

CREATE VIEW holder AS
    SELECT name, nonce, process, bond, mode, fence, reserved, since AS granted_at
    FROM line WHERE place = 0 AND name > '';
CREATE VIEW waiter AS
    SELECT name, place, nonce, process, bond, mode, permits, since FROM line WHERE place > 0;
CREATE VIEW counter AS
    SELECT fence AS next, fence + reserved AS reserved_to FROM line WHERE name = '';

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
        return "SELECT next, reserved_to FROM counter";
    case query::fence_take:
        return "UPDATE line SET fence = fence + ?1, reserved = reserved - ?1"
               " WHERE name = '' AND place = 0 AND nonce = x''"; // one row: needs no savepoint
    case query::fence_reserve:
        return "UPDATE line SET reserved = max(reserved, 0, ?2 - fence) + ?1 WHERE name = ''";

    case query::glance: // all that a free name needs, in one question
        return "SELECT NOT EXISTS (SELECT 1 FROM line WHERE name = ?1), c.next, c.reserved_to,"
               " b.ttl, b.lock_delay, b.expires_at, b.shared, b.children_keep_it"
               " FROM counter c LEFT JOIN bond b ON b.process = ?2 AND b.id = ?3";

    case query::holders_of:
        return "SELECT h.nonce, h.process, h.bond, h.mode, h.fence, h.reserved, h.granted_at,"
               " b.ttl, b.lock_delay, b.expires_at, b.shared, b.children_keep_it"
               " FROM holder h LEFT JOIN bond b ON b.process = h.process AND b.id = h.bond"
               " WHERE h.name = ?1";
    case query::holder_add:
        return "INSERT OR REPLACE INTO line VALUES (?1, 0, ?2, ?3, ?4, ?5, 0, ?6, ?7, ?8)";
    case query::holder_remove:
        return "DELETE FROM line WHERE name = ?1 AND place = 0 AND nonce = ?2";
    case query::holder_bond:
        return "SELECT bond FROM holder WHERE name = ?1 AND nonce = ?2";
    case query::holder_rebind:
        return "UPDATE line SET bond = ?1 WHERE name = ?2 AND place = 0 AND nonce = ?3";
    case query::holder_refence:
        return "UPDATE line SET fence = ?1 WHERE name = ?2 AND place = 0 AND nonce = ?3";
    case query::holders_of_bond_remove:
        return "DELETE FROM line WHERE place = 0 AND process = ?1 AND bond = ?2 RETURNING name";

    case query::has_waiters:
        return "SELECT 1 FROM waiter WHERE name = ?1 LIMIT 1";
    case query::waiters_of:
        return "SELECT w.place, w.nonce, w.process, w.bond, w.mode, w.permits,"
               " b.ttl, b.lock_delay, b.expires_at, b.shared, b.children_keep_it"
               " FROM waiter w LEFT JOIN bond b ON b.process = w.process AND b.id = w.bond"
               " WHERE w.name = ?1 ORDER BY w.place";
    case query::waiters_from_the_end:
        return "SELECT w.place, w.nonce, w.process, w.bond, w.mode, w.permits,"
               " b.ttl, b.lock_delay, b.expires_at, b.shared, b.children_keep_it"
               " FROM waiter w LEFT JOIN bond b ON b.process = w.process AND b.id = w.bond"
               " WHERE w.name = ?1 ORDER BY w.place DESC";
    case query::queue_size:
        return "SELECT count(*), max(nonce = ?2) FROM waiter WHERE name = ?1";
    case query::waiter_after:
        return "SELECT process, nonce FROM waiter WHERE name = ?1 AND place > ?2"
               " ORDER BY place LIMIT 1";
    case query::waiter_add:
        return "INSERT INTO line VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, 0, ?8)";
    case query::waiter_remove:
        return "DELETE FROM line WHERE name = ?1 AND place > 0 AND nonce = ?2"
               " RETURNING place, bond";
    case query::waiter_admitted:
        return "DELETE FROM line WHERE name = ?1 AND place = ?2 AND nonce = ?3";
    case query::waiter_rebind:
        return "UPDATE line SET bond = ?1 WHERE name = ?2 AND place = ?3";

    case query::bond_find:
        return "SELECT ttl, lock_delay, expires_at, shared, children_keep_it FROM bond"
               " WHERE process = ?1 AND id = ?2";
    case query::bond_free_at:
        return "SELECT expires_at + lock_delay FROM bond WHERE process = ?1 AND id = ?2";
    case query::bond_add:
        return "INSERT INTO bond SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7"
               " WHERE EXISTS (SELECT 1 FROM process WHERE id = ?1)";
    case query::bond_prolong:
        return "UPDATE bond SET expires_at = max(expires_at, ?1 + ttl)"
               " WHERE process = ?2 AND id = ?3"
               " RETURNING ttl, lock_delay, expires_at, shared, children_keep_it";
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
        return "INSERT INTO process VALUES (?1, ?2, ?3, ?4)";
    case query::process_find:
        return "SELECT host, pid, purpose FROM process WHERE id = ?1";
    case query::process_remove:
        return "DELETE FROM process WHERE id = ?1";
    case query::processes:
        return "SELECT id FROM process";
    case query::bonds_left:
        return "SELECT count(*) FROM bond WHERE process = ?1";
    case query::bonds_of_dead_cut:
        return "UPDATE bond SET expires_at = ?1, children_keep_it = 0"
               " WHERE process = ?2 AND (expires_at > ?1 OR children_keep_it)";
    case query::bonds_over_remove:
        return "DELETE FROM bond WHERE process = ?1 AND expires_at + lock_delay <= ?2";
    case query::holders_over_remove:
        return "DELETE FROM line WHERE place = 0 AND process = ?1 AND NOT EXISTS"
               " (SELECT 1 FROM bond b WHERE b.process = ?1 AND b.id = line.bond) RETURNING name";
    case query::waiters_of_process_remove:
        return "DELETE FROM line WHERE place > 0 AND process = ?1 RETURNING name, place";

    case query::domain:
        return "SELECT domain FROM meta";

    case query::all_holders:
        return "SELECT h.nonce, h.process, h.bond, h.mode, h.fence, h.reserved, h.granted_at,"
               " b.ttl, b.lock_delay, b.expires_at, b.shared, b.children_keep_it,"
               " h.name, p.host, p.pid, p.purpose"
               " FROM holder h LEFT JOIN bond b ON b.process = h.process AND b.id = h.bond"
               " LEFT JOIN process p ON p.id = h.process ORDER BY h.name, h.granted_at";
    case query::all_waiters:
        return "SELECT w.name, w.process, w.mode, w.since, p.host, p.pid, p.purpose"
               " FROM waiter w LEFT JOIN process p ON p.id = w.process ORDER BY w.name, w.place";
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
    if (holder.kept_by->children_keep_it && life == liveness::alive)
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
