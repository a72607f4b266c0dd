#include "backends/mysql/dialect.hpp"
#include "runtime/assert.hpp"

// One statement where possible, which is a transaction by itself, and says in the same packet how
// many rows it changed and one number more: LAST_INSERT_ID(n) is n, and makes it that number. SET
// works from left to right, so what the conditions look at is changed last.
//
// Transactions lock the lock's row first. They run as READ COMMITTED, where a statement sees what
// others have just done, and locks the rows that it finds and no gaps between them. Whether an
// UPDATE found its row, the statements after it learn from a variable that it sets, not from
// ROW_COUNT(): when a client is gone, MariaDB does the rest of what was sent and commits it, and
// there ROW_COUNT() is wrong.

namespace holdfast::mysql {

using relational::front_query;
using relational::octets;
using relational::one_of;
using relational::parameter;
using relational::query;
using relational::statement;
using relational::table;

namespace {

constexpr std::string_view now = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))";

#define FREE "nonce IS NULL AND shared = 0 AND permits = 0 AND waiters < 2"
#define IS_FREE "($8 = 1 AND " FREE ")"

// Whom to wake first: NULL if nobody waits.
#define FIRST_BELL                                                                                 \
    "(SELECT b.bell FROM {line} w JOIN {bond} b ON b.id = w.bond WHERE w.name = $1"                \
    " AND w.place > 0 ORDER BY w.place LIMIT 1)"

constexpr std::string_view schema_text = R"(
CREATE TABLE IF NOT EXISTS {lock} (
    name    VARBINARY(1024) NOT NULL PRIMARY KEY,
    fence   BIGINT NOT NULL, -- of the last who had it alone; {passes} more came along with it
    nonce   BINARY(16),      -- who has it alone
    bond    BIGINT NOT NULL DEFAULT 0,
    since   BIGINT NOT NULL, -- all times: microseconds since 1970
    version BIGINT NOT NULL, -- changes with every change
    shared  BIGINT NOT NULL DEFAULT 0,
    permits BIGINT NOT NULL DEFAULT 0,
    waiters BIGINT NOT NULL DEFAULT 0
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS {line} (
    name    VARBINARY(1024) NOT NULL,
    nonce   BINARY(16) NOT NULL,
    place   BIGINT NOT NULL, -- 0: holds it; above: waits, in this order; -1: an operator took it
    bond    BIGINT NOT NULL,
    client  BIGINT NOT NULL,
    mode    BIGINT NOT NULL,
    permits BIGINT NOT NULL,
    fair    BIGINT NOT NULL,
    fence   BIGINT NOT NULL,
    since   BIGINT NOT NULL,
    PRIMARY KEY (name, nonce),
    KEY by_place (name, place),
    KEY by_bond (bond),
    KEY by_client (client)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS {bond} (
    id         BIGINT NOT NULL PRIMARY KEY,
    client     BIGINT NOT NULL,
    ttl        BIGINT NOT NULL,
    lock_delay BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    renewals   BIGINT NOT NULL,
    bell       BIGINT NOT NULL,
    host       VARBINARY(256) NOT NULL,
    pid        BIGINT NOT NULL,
    purpose    VARBINARY(1024) NOT NULL,
    KEY by_client (client)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS {row} ( -- for mode=row
    name VARBINARY(1024) NOT NULL PRIMARY KEY
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS {meta} (
    version BIGINT NOT NULL PRIMARY KEY
) ENGINE = InnoDB;
INSERT IGNORE INTO {meta} VALUES (1);
)";

#define MAY_TAKE "(" FREE ") OR nonce = VALUES(nonce)"

[[nodiscard]] std::string_view own_text(query which) {
    switch (which) {
    case query::make_row:
        return "INSERT IGNORE INTO {lock} (name, fence, since, version)"
               " VALUES ($1, {now}, {now}, 1)";
    case query::take:
        return "INSERT INTO {lock} (name, fence, nonce, bond, since, version)"
               " VALUES ($1, LAST_INSERT_ID({now}), $2, $3, {now}, 1)"
               " ON DUPLICATE KEY UPDATE"
               " fence = IF(" MAY_TAKE ", LAST_INSERT_ID(IF(nonce = VALUES(nonce), fence,"
               " GREATEST(fence + {passes}, VALUES(fence)) + 1)), fence),"
               " bond = IF(" MAY_TAKE ", VALUES(bond), bond),"
               " since = IF(" MAY_TAKE ", VALUES(since), since),"
               " version = IF(" MAY_TAKE ", version + 1, version),"
               " nonce = IF(" MAY_TAKE ", VALUES(nonce), nonce)";
    case query::retake:
        return "UPDATE {lock} SET fence = LAST_INSERT_ID(GREATEST(fence + {passes}, {now}) + 1),"
               " bond = $3, since = {now}, version = version + 1, nonce = $2"
               " WHERE name = $1 AND " FREE;
    case query::take_beside:
        return "START TRANSACTION; SET @holdfast = 0;"
               " UPDATE {lock} SET version = version + (@holdfast := 1), since = {now},"
               " shared = shared + ($5 = 1), permits = permits + ($5 = 2)"
               " WHERE name = $1 AND IF($5 = 1,"
               " permits = 0 AND (nonce IS NULL AND waiters = 0 OR nonce = $7),"
               " nonce IS NULL AND shared = 0 AND waiters = 0 AND permits < $6)"
               " AND NOT EXISTS (SELECT 1 FROM {line} WHERE name = $1 AND nonce = $2);"
               " INSERT INTO {line} SELECT name, $2, 0, $3, $4, $5, $6, 0,"
               " IF(nonce = $7, fence, fence + {passes}), {now}"
               " FROM {lock} WHERE name = $1 AND @holdfast = 1;"
               " SELECT fence, 0 FROM {line} WHERE name = $1 AND nonce = $2 AND @holdfast = 1;"
               " COMMIT";
    case query::join: // what is set is what later parts of it see
        return "START TRANSACTION;"
               " UPDATE {lock} SET version = version + 1,"
               " fence = IF(" IS_FREE ", GREATEST(fence + {passes}, {now}) + 1, fence),"
               " bond = IF(nonce <=> $2 OR " IS_FREE ", $3, bond), since = IF(" IS_FREE
               ", {now}, since),"
               " nonce = IF(" IS_FREE ", $2, nonce), waiters = IF(nonce <=> $2, waiters,"
               " waiters | $7) WHERE name = $1;"
               " INSERT IGNORE INTO {line} SELECT name, $2, version, $3, $4, $5, $6, $7 DIV 2, 0,"
               " {now} FROM {lock} WHERE name = $1 AND NOT (nonce <=> $2);"
               " SELECT IF(nonce <=> $2, fence, NULL), waiters, NOT (nonce <=> $2) AND"
               " nonce IS NOT NULL FROM {lock} WHERE name = $1;"
               " COMMIT";
    case query::admit:
        return "START TRANSACTION; SET @holdfast = 0;"
               " UPDATE {lock} SET fence = GREATEST(fence + {passes}, {now}) + 1, bond = $3,"
               " since = {now}, waiters = IF($4 = -1, waiters, $5), version = version + (@holdfast "
               ":= 1),"
               " nonce = $2"
               " WHERE name = $1 AND (version = $4 OR $4 = -1 AND waiters < 2)"
               " AND nonce IS NULL AND shared = 0 AND permits = 0;"
               " DELETE FROM {line} WHERE name = $1 AND nonce = $2 AND @holdfast = 1;"
               " SET @others = EXISTS (SELECT 1 FROM {line} WHERE name = $1 AND place > 0);"
               " UPDATE {lock} SET waiters = 0 WHERE name = $1 AND $4 = -1 AND @holdfast = 1"
               " AND NOT @others;"
               " SELECT fence, waiters FROM {lock} WHERE name = $1 AND nonce = $2"
               " AND @holdfast = 1;"
               " COMMIT";
    case query::admit_beside:
        return "START TRANSACTION; SET @holdfast = 0;"
               " UPDATE {lock} SET since = {now}, waiters = $7,"
               " shared = shared + ($5 = 1), permits = permits + ($5 = 2), version = version + "
               "(@holdfast := 1)"
               " WHERE name = $1 AND version = $6;"
               " INSERT INTO {line} SELECT name, $2, 0, $3, $4, $5, 1, 0,"
               " IF(nonce = $8, fence, fence + {passes}), {now}"
               " FROM {lock} WHERE name = $1 AND @holdfast = 1"
               " ON DUPLICATE KEY UPDATE place = 0, bond = VALUES(bond), fence = VALUES(fence),"
               " since = VALUES(since);"
               " SELECT n.fence, l.waiters FROM {line} n JOIN {lock} l ON l.name = n.name"
               " WHERE n.name = $1 AND n.nonce = $2 AND @holdfast = 1;"
               " COMMIT";
#define GIVE_BACK                                                                                  \
    "UPDATE {lock} SET version = version + 1, waiters = LAST_INSERT_ID(waiters), nonce = NULL"     \
    " WHERE name = $1 AND nonce = $2"
    case query::release_unwanted: // whom to wake is asked afterwards: it is as small as it can be
        return GIVE_BACK;
    case query::release: // the bond goes after it: what is not there keeps nobody
        return GIVE_BACK " AND ($4 = 0 OR bond = $4); DELETE FROM {bond} WHERE id = $3";
#undef GIVE_BACK
    case query::leave: // a join reads the other table's row before it waits for the first
        return "START TRANSACTION;"
               " SET @holdfast = 0, @locked = (SELECT version FROM {lock} WHERE name = $1"
               " FOR UPDATE);"
               " UPDATE {lock} l JOIN {line} n ON n.name = l.name AND n.nonce = $2"
               " SET l.shared = l.shared - (n.place = 0 AND n.mode = 1),"
               " l.permits = l.permits - (n.place = 0 AND n.mode = 2), l.version = l.version + "
               "(@holdfast := 1)"
               " WHERE l.name = $1 AND n.place >= 0 AND ($3 = 0 OR n.bond = $3);"
               " DELETE FROM {line} WHERE name = $1 AND nonce = $2 AND ($3 = 0 OR bond = $3);"
               " SELECT version, waiters, " FIRST_BELL " FROM {lock} WHERE name = $1"
               " AND @holdfast = 1;"
               " COMMIT";
    case query::next_in_line:
        return "SELECT version, waiters, " FIRST_BELL " FROM {lock} WHERE name = $1";

    case query::bond_add:
        return "INSERT INTO {bond} VALUES ($1, $2, $3, $4, {now} + $3, 1, $5, $6, $7, $8)"
               " ON DUPLICATE KEY UPDATE expires_at = VALUES(expires_at), renewals = renewals + 1";
    case query::bond_keep:
        return "UPDATE {bond} SET expires_at = {now} + ttl, renewals = renewals + 1 WHERE id = $1";
    case query::bond_end:
        return "DELETE FROM {bond} WHERE id = $1 AND renewals = $2";
    case query::bonds_renew:
        return "UPDATE {bond} SET expires_at = {now} + ttl, renewals = renewals + 1"
               " WHERE id IN ($1);"
               " SELECT id, NULL FROM {bond} WHERE id IN ($1) UNION ALL"
               " SELECT bond, nonce FROM {line} WHERE bond IN ($1) AND place = -1";
    case query::bonds_remove:
        return "DELETE FROM {bond} WHERE id IN ($1);"
               " DELETE FROM {line} WHERE bond IN ($1) AND place <> 0";

    case query::raise_fence:
        return "START TRANSACTION; SET @holdfast = 0;"
               " UPDATE {lock} l LEFT JOIN {line} n ON n.name = l.name AND n.nonce = $2"
               " AND n.place = 0 SET n.fence = GREATEST(n.fence, $3),"
               " l.fence = GREATEST(l.fence, $3), l.version = l.version + (@holdfast := 1)"
               " WHERE l.name = $1 AND (l.nonce = $2 OR n.nonce = $2);"
               " SELECT fence FROM {lock} WHERE name = $1 AND @holdfast > 0;"
               " COMMIT";
    case query::force_release:
        return "START TRANSACTION;"
               " SELECT 1 FROM {lock} WHERE name = $1 FOR UPDATE;"
               " UPDATE {line} SET place = -1 WHERE name = $1 AND place = 0;"
               " SET @holdfast = ROW_COUNT();"
               " INSERT IGNORE INTO {line} SELECT l.name, l.nonce, -1, l.bond, b.client, 0, 1, 0,"
               " l.fence, {now} FROM {lock} l JOIN {bond} b ON b.id = l.bond"
               " WHERE l.name = $1 AND l.nonce IS NOT NULL;"
               " SET @holdfast = @holdfast + ROW_COUNT();"
               " UPDATE {lock} SET nonce = NULL, shared = 0, permits = 0, version = version + 1"
               " WHERE name = $1;"
               " SELECT @holdfast;"
               " COMMIT";
    default:
        return {};
    }
}

#undef MAY_TAKE
#undef FIRST_BELL
#undef IS_FREE
#undef FREE

[[nodiscard]] std::string bytes(std::string_view raw) {
    return "x'" + relational::hex_of(raw) + "'";
}

// Nothing that somebody else chose stands in a text as itself: bytes are written in digits.
struct written {
    std::string operator()(std::int64_t n) const { return std::to_string(n); }
    std::string operator()(const std::string& text) const { return bytes(text); }
    std::string operator()(const octets& some) const {
        return some.raw.empty() ? "NULL" : bytes(some.raw);
    }
    std::string operator()(const one_of& some) const {
        std::string list;
        for (const auto id : some.ids)
            list.append(list.empty() ? "" : ",").append(std::to_string(id));
        return list.empty() ? "NULL" : list;
    }
};

} // namespace

std::string frame_of(query which, std::string_view prefix) {
    const auto common = relational::common_text(which);
    return relational::filled(common.empty() ? own_text(which) : common, prefix, now);
}

std::string text_of(const statement& what, std::string_view frame) {
    if (what.what == query::none)
        return what.text;
    if (what.what == query::release && std::get<std::int64_t>(what.with[2]) == 0)
        frame = frame.substr(0, frame.find(';')); // there is no bond to go
    std::string made;
    made.reserve(2 * frame.size());
    for (std::size_t at = 0;;) {
        const auto dollar = frame.find('$', at);
        made.append(frame, at, dollar - at);
        if (dollar == frame.npos)
            return made;
        const auto which = static_cast<std::size_t>(frame[dollar + 1] - '1');
        HOLDFAST_ASSERT(which < what.with.size(), "a statement is given all that it names");
        made.append(std::visit(written{}, what.with[which]));
        at = dollar + 2;
    }
}

std::string schema(std::string_view prefix) { return relational::filled(schema_text, prefix, now); }

std::string front_text(front_query which, std::string_view prefix, std::string_view name) {
    std::string lock = "'holdfast_";
    lock.append(std::to_string(relational::number_of_name(prefix, name))).append("'");
    std::string row{prefix};
    row.append("_row");
    switch (which) {
    case front_query::try_session:
        return "SELECT GET_LOCK(" + lock + ", 0)";
    case front_query::end_session:
        return "DO RELEASE_LOCK(" + lock + ")";
    case front_query::make_row: // without waiting for who has locked it
        return "INSERT IGNORE INTO " + row + " SELECT " + bytes(name) +
               " FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM " + row +
               " WHERE name = " + bytes(name) + "); COMMIT";
    case front_query::try_row:
        return "START TRANSACTION; SELECT 1 FROM " + row + " WHERE name = " + bytes(name) +
               " FOR UPDATE SKIP LOCKED";
    }
    return {};
}

table answer_without_rows(query which, std::uint64_t changed, std::uint64_t last_insert_id) {
    if (changed == 0)
        return table{};
    const auto number = std::to_string(last_insert_id);
    switch (which) {
    case query::take:
    case query::retake: {
        table made{2};
        made.add(number);
        made.add("0"); // whoever waits will say so
        return made;
    }
    case query::release_unwanted:
    case query::release: { // whom to wake was not asked: -1
        table made{3};
        made.add("0");
        made.add(number);
        made.add("-1");
        return made;
    }
    default: {
        table made{1};
        made.add(std::to_string(changed));
        return made;
    }
    }
}

} // namespace holdfast::mysql
