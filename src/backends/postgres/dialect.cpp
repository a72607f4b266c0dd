#include "backends/postgres/dialect.hpp"

// Where one statement changes two tables, it is one with WITH: its parts see the same snapshot, so
// what is decided between clients at the same moment stands in the lock's row itself, which is read
// again when somebody else has just changed it. What a part finds out about other rows may be old;
// it is compared with lock.version, or does no harm.

namespace holdfast::postgres {

using relational::front_query;
using relational::query;

namespace {

constexpr std::string_view now = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

// A channel for each client, named as the tables are. One who waits is woken, the first.
#define WAKE(condition)                                                                            \
    "(SELECT nullif(count(pg_notify('{client}' || w.client, 'w' || encode(w.nonce, 'hex'))), 0)"   \
    " FROM (SELECT client, nonce FROM {line} WHERE name = $1 AND place > 0 " condition             \
    " ORDER BY place LIMIT 1) w WHERE r.waiters > 0)"

// Nobody waits any more: so we see it, and nothing has changed since we looked. What stands in a
// WITH sees the row as it was then, the row itself is read again.
#define WAITERS_LEFT                                                                               \
    " WHEN version = (SELECT version FROM {lock} WHERE name = $1) AND NOT EXISTS (SELECT 1"        \
    " FROM {line} WHERE name = $1 AND place > 0 AND nonce <> $2) THEN 0 ELSE waiters END"

#define FREE "nonce IS NULL AND shared = 0 AND permits = 0 AND waiters < 2"
#define IS_FREE "($8 = 1 AND " FREE ")"

constexpr std::string_view schema_text = R"(
CREATE TABLE IF NOT EXISTS {lock} (
    name    text COLLATE "C" PRIMARY KEY,
    fence   bigint NOT NULL, -- of the last who had it alone; {passes} more came along with it
    nonce   bytea,           -- who has it alone
    bond    bigint NOT NULL DEFAULT 0,
    since   bigint NOT NULL, -- all times: microseconds since 1970
    version bigint NOT NULL, -- changes with every change
    shared  bigint NOT NULL DEFAULT 0,
    permits bigint NOT NULL DEFAULT 0,
    waiters bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE TABLE IF NOT EXISTS {line} (
    name    text COLLATE "C" NOT NULL,
    nonce   bytea  NOT NULL,
    place   bigint NOT NULL, -- 0: holds it; above: waits, in this order; -1: an operator took it
    bond    bigint NOT NULL,
    client  bigint NOT NULL,
    mode    bigint NOT NULL,
    permits bigint NOT NULL,
    fair    bigint NOT NULL,
    fence   bigint NOT NULL,
    since   bigint NOT NULL,
    PRIMARY KEY (name, nonce)
) WITH (fillfactor = 70);
CREATE INDEX IF NOT EXISTS {line}_place ON {line} (name, place);
CREATE INDEX IF NOT EXISTS {line}_bond ON {line} (bond);

CREATE TABLE IF NOT EXISTS {bond} (
    id         bigint PRIMARY KEY,
    client     bigint NOT NULL,
    ttl        bigint NOT NULL,
    lock_delay bigint NOT NULL,
    expires_at bigint NOT NULL,
    renewals   bigint NOT NULL,
    bell       bigint NOT NULL,
    host       text   NOT NULL,
    pid        bigint NOT NULL,
    purpose    text   NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE IF NOT EXISTS {row} ( -- for mode=row
    name text COLLATE "C" PRIMARY KEY
);

CREATE TABLE IF NOT EXISTS {meta} (
    version bigint PRIMARY KEY
);
INSERT INTO {meta} SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM {meta});
)";

[[nodiscard]] std::string_view own_text(query which) {
    switch (which) {
    case query::make_row:
        return "INSERT INTO {lock} (name, fence, since, version) VALUES ($1, {now}, {now}, 1)"
               " ON CONFLICT (name) DO NOTHING";
    case query::take:
        return "INSERT INTO {lock} AS l (name, fence, nonce, bond, since, version)"
               " VALUES ($1, {now}, $2, $3, {now}, 1)"
               " ON CONFLICT (name) DO UPDATE SET"
               " fence = CASE WHEN l.nonce = EXCLUDED.nonce THEN l.fence"
               " ELSE greatest(l.fence + {passes}, EXCLUDED.fence) + 1 END,"
               " since = CASE WHEN l.nonce = EXCLUDED.nonce THEN l.since ELSE EXCLUDED.since END,"
               " nonce = EXCLUDED.nonce, bond = EXCLUDED.bond, version = l.version + 1"
               " WHERE l.nonce = EXCLUDED.nonce OR"
               " (l.nonce IS NULL AND l.shared = 0 AND l.permits = 0 AND l.waiters < 2)"
               " RETURNING fence, waiters";
    case query::retake:
        return "UPDATE {lock} SET fence = greatest(fence + {passes}, {now}) + 1, nonce = $2,"
               " bond = $3, since = {now}, version = version + 1"
               " WHERE name = $1 AND " FREE " RETURNING fence, waiters";
    case query::take_beside:
        return "WITH l AS (UPDATE {lock} SET version = version + 1, since = {now},"
               " shared = shared + CASE $5 WHEN 1 THEN 1 ELSE 0 END,"
               " permits = permits + CASE $5 WHEN 2 THEN 1 ELSE 0 END"
               " WHERE name = $1 AND CASE $5"
               " WHEN 1 THEN permits = 0 AND (nonce IS NULL AND waiters = 0 OR nonce = $7)"
               " ELSE nonce IS NULL AND shared = 0 AND waiters = 0 AND permits < $6 END"
               " AND NOT EXISTS (SELECT 1 FROM {line} WHERE name = $1 AND nonce = $2)"
               " RETURNING CASE WHEN nonce = $7 THEN fence ELSE fence + {passes} END AS fence),"
               " n AS (INSERT INTO {line} SELECT $1, $2, 0, $3, $4, $5, $6, 0, fence, {now} FROM l)"
               " SELECT fence, 0 FROM l";
    case query::join: // a place need not survive the server: whoever has lost his asks again
        return "WITH l AS (UPDATE {lock} SET version = version + 1,"
               " fence = CASE WHEN " IS_FREE " THEN greatest(fence + {passes}, {now}) + 1"
               " ELSE fence END,"
               " nonce = CASE WHEN " IS_FREE " THEN $2 ELSE nonce END,"
               " bond = CASE WHEN nonce = $2 OR " IS_FREE " THEN $3 ELSE bond END,"
               " since = CASE WHEN " IS_FREE " THEN {now} ELSE since END,"
               " waiters = CASE WHEN nonce = $2 OR " IS_FREE " THEN waiters ELSE waiters | $7 END"
               " WHERE name = $1 RETURNING version, fence, waiters, bond, nonce,"
               " coalesce(nonce = $2, false) AS is_ours),"
               " n AS (INSERT INTO {line} SELECT $1, $2, version, $3, $4, $5, $6, $7 / 2, 0, {now}"
               " FROM l WHERE NOT is_ours ON CONFLICT (name, nonce) DO NOTHING)"
               " SELECT CASE WHEN is_ours THEN fence END, waiters,"
               " CASE WHEN is_ours THEN 0 ELSE (nonce IS NOT NULL)::int END,"
               " CASE WHEN NOT is_ours THEN set_config('synchronous_commit', 'off', true) END,"
               " (SELECT count(pg_notify('{client}' || b.client, 'h' || encode(l.nonce, 'hex')))"
               " FROM {bond} b WHERE b.id = l.bond AND l.nonce IS NOT NULL AND b.client <> $4)"
               " FROM l";
    case query::admit:
        return "WITH l AS (UPDATE {lock} SET fence = greatest(fence + {passes}, {now}) + 1,"
               " nonce = $2, bond = $3, since = {now}, version = version + 1,"
               " waiters = CASE WHEN $4 <> -1 THEN $5" WAITERS_LEFT
               " WHERE name = $1 AND (version = $4 OR $4 = -1 AND waiters < 2)"
               " AND nonce IS NULL AND shared = 0 AND permits = 0"
               " RETURNING fence, waiters),"
               " n AS (DELETE FROM {line} WHERE name = $1 AND nonce = $2 AND EXISTS"
               " (SELECT 1 FROM l))"
               " SELECT fence, waiters FROM l";
    case query::admit_beside:
        return "WITH l AS (UPDATE {lock} SET version = version + 1, since = {now}, waiters = $7,"
               " shared = shared + CASE $5 WHEN 1 THEN 1 ELSE 0 END,"
               " permits = permits + CASE $5 WHEN 2 THEN 1 ELSE 0 END"
               " WHERE name = $1 AND version = $6"
               " RETURNING CASE WHEN nonce = $8 THEN fence ELSE fence + {passes} END AS fence,"
               " waiters),"
               " n AS (INSERT INTO {line} SELECT $1, $2, 0, $3, $4, $5, 1, 0, fence, {now} FROM l"
               " ON CONFLICT (name, nonce) DO UPDATE SET place = 0, bond = EXCLUDED.bond,"
               " fence = EXCLUDED.fence, since = EXCLUDED.since)"
               " SELECT fence, waiters FROM l";
    case query::release:
        return "WITH r AS (UPDATE {lock} SET nonce = NULL, version = version + 1,"
               " waiters = CASE WHEN waiters = 0 THEN 0" WAITERS_LEFT
               " WHERE name = $1 AND nonce = $2 AND ($4 = 0 OR bond = $4)"
               " RETURNING version, waiters),"
               " b AS (DELETE FROM {bond} WHERE id = $3 AND EXISTS (SELECT 1 FROM r))"
               " SELECT r.version, r.waiters, " WAKE("") " FROM r";
    case query::release_unwanted:
        return "UPDATE {lock} SET nonce = NULL, version = version + 1"
               " WHERE name = $1 AND nonce = $2 AND waiters = 0 RETURNING version, waiters";
    case query::leave:
        return "WITH n AS (DELETE FROM {line} WHERE name = $1 AND nonce = $2"
               " AND ($3 = 0 OR bond = $3) RETURNING place, mode),"
               " r AS (UPDATE {lock} l SET version = l.version + 1,"
               " shared = l.shared - CASE WHEN n.place = 0 AND n.mode = 1 THEN 1 ELSE 0 END,"
               " permits = l.permits - CASE WHEN n.place = 0 AND n.mode = 2 THEN 1 ELSE 0 END"
               " FROM n WHERE l.name = $1 AND n.place >= 0 RETURNING l.version, l.waiters)"
               " SELECT r.version, r.waiters, " WAKE("AND nonce <> $2") " FROM r";
    case query::next_in_line:
        return "SELECT r.version, r.waiters, " WAKE("") " FROM {lock} r WHERE r.name = $1";

    case query::bond_add:
        return "INSERT INTO {bond} AS b VALUES ($1, $2, $3, $4, {now} + $3, 1, $5, $6, $7, $8)"
               " ON CONFLICT (id) DO UPDATE SET expires_at = EXCLUDED.expires_at,"
               " renewals = b.renewals + 1 RETURNING id";
    case query::bond_keep:
        return "UPDATE {bond} SET expires_at = {now} + ttl, renewals = renewals + 1 WHERE id = $1"
               " RETURNING id";
    case query::bond_end:
        return "DELETE FROM {bond} WHERE id = $1 AND renewals = $2 RETURNING id";
    case query::bonds_renew:
        return "WITH b AS (UPDATE {bond} SET expires_at = {now} + ttl, renewals = renewals + 1"
               " WHERE id = ANY($1) RETURNING id)"
               " SELECT id, NULL::bytea FROM b UNION ALL"
               " SELECT bond, nonce FROM {line} WHERE bond = ANY($1) AND place = -1";
    case query::bonds_remove:
        return "WITH n AS (DELETE FROM {line} WHERE bond = ANY($1) AND place <> 0)"
               " DELETE FROM {bond} WHERE id = ANY($1)";

    case query::raise_fence: // who shares it has a row of his own; later grants pass it all the
                             // same
        return "WITH n AS (UPDATE {line} SET fence = greatest(fence, $3) WHERE name = $1"
               " AND nonce = $2 AND place = 0 RETURNING name)"
               " UPDATE {lock} SET fence = greatest(fence, $3), version = version + 1"
               " WHERE name = $1 AND (nonce = $2 OR EXISTS (SELECT 1 FROM n)) RETURNING fence";
    case query::force_release:
        return "WITH o AS (SELECT l.name, l.nonce, l.bond, l.fence, b.client FROM {lock} l"
               " LEFT JOIN {bond} b ON b.id = l.bond WHERE l.name = $1 FOR UPDATE OF l),"
               " l AS (UPDATE {lock} k SET nonce = NULL, shared = 0, permits = 0,"
               " version = k.version + 1 FROM o WHERE k.name = o.name),"
               " a AS (INSERT INTO {line} SELECT name, nonce, -1, bond, client, 0, 1, 0, fence,"
               " {now} FROM o WHERE nonce IS NOT NULL AND client IS NOT NULL"
               " ON CONFLICT (name, nonce) DO UPDATE SET place = -1 RETURNING client, nonce),"
               " s AS (UPDATE {line} SET place = -1 WHERE name = $1 AND place = 0"
               " RETURNING client, nonce)"
               " SELECT count(pg_notify('{client}' || client, 't' || encode(nonce, 'hex')))"
               " FROM (SELECT * FROM a UNION ALL SELECT * FROM s) t";
    default:
        return {};
    }
}

#undef WAKE
#undef IS_FREE
#undef FREE
#undef WAITERS_LEFT

} // namespace

std::string text_of(query which, std::string_view prefix) {
    const auto common = relational::common_text(which);
    return relational::filled(common.empty() ? own_text(which) : common, prefix, now);
}

std::string schema(std::string_view prefix) { return relational::filled(schema_text, prefix, now); }

std::string
front_text(front_query which, std::string_view prefix, std::string_view name, mode how) {
    const bool shared = how == mode::shared;
    const auto number =
        std::to_string(static_cast<std::int64_t>(relational::number_of_name(prefix, name)));
    const auto text = "convert_from('\\x" + relational::hex_of(name) + "'::bytea, 'UTF8')";
    std::string row{prefix};
    row.append("_row");
    switch (which) {
    case front_query::try_session:
        return std::string{"SELECT pg_try_advisory_lock"} + (shared ? "_shared(" : "(") + number +
               ")::int";
    case front_query::end_session:
        return std::string{"SELECT pg_advisory_unlock"} + (shared ? "_shared(" : "(") + number +
               ")";
    case front_query::make_row:
        return "INSERT INTO " + row + " VALUES (" + text + ") ON CONFLICT DO NOTHING; COMMIT";
    case front_query::try_row:
        return "BEGIN; SELECT 1 FROM " + row + " WHERE name = " + text +
               (shared ? " FOR SHARE" : " FOR UPDATE") + " SKIP LOCKED";
    }
    return {};
}

std::string channel(std::string_view prefix, std::int64_t client) {
    return relational::filled("{client}", prefix, now) + std::to_string(client);
}

} // namespace holdfast::postgres
