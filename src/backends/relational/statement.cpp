#include "backends/relational/statement.hpp"
#include "runtime/assert.hpp"

#include <charconv>

namespace holdfast::relational {

const std::optional<std::string>& table::at(std::size_t row, std::size_t column) const {
    HOLDFAST_ASSERT(column < columns_ && row < rows(), "a cell lies inside its table");
    return cells_[row * columns_ + column];
}

std::int64_t table::number(std::size_t row, std::size_t column) const noexcept {
    const auto& cell = at(row, column);
    std::int64_t value = 0;
    if (cell)
        std::from_chars(cell->data(), cell->data() + cell->size(), value);
    return value;
}

std::string_view table::text(std::size_t row, std::size_t column) const {
    const auto& cell = at(row, column);
    return cell ? std::string_view{*cell} : std::string_view{};
}

// FNV-1a, and then mixed: what differs in the last letter differs everywhere.
std::uint64_t number_of_name(std::string_view table, std::string_view name) noexcept {
    std::uint64_t hash = 14695981039346656037U;
    const auto add = [&](char c) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
    };
    for (const char c : table)
        add(c);
    add('\0');
    for (const char c : name)
        add(c);
    hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdU;
    hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53U;
    return hash ^ (hash >> 33);
}

std::string hex_of(std::string_view raw) {
    constexpr char digits[] = "0123456789abcdef";
    std::string made;
    for (const char c : raw) {
        made.push_back(digits[static_cast<unsigned char>(c) >> 4]);
        made.push_back(digits[static_cast<unsigned char>(c) & 15]);
    }
    return made;
}

std::string filled(std::string_view text, std::string_view prefix, std::string_view now) {
    std::string made;
    for (std::size_t at = 0; at < text.size();) {
        const auto open = text.find('{', at);
        made.append(text.substr(at, open - at));
        if (open == text.npos)
            break;
        const auto close = text.find('}', open);
        const auto word = text.substr(open + 1, close - open - 1);
        if (word == "now")
            made.append(now);
        else if (word == "passes")
            made.append(std::to_string(reserved_passes));
        else if (word == "shown")
            made.append(std::to_string(waiters_shown));
        else
            made.append(prefix).append("_").append(word);
        at = close + 1;
    }
    return made;
}

// Those who hold it and the first who wait, a row each, with what keeps them; or one row without,
// if there is nobody.
constexpr std::string_view look =
    "WITH n AS ("
    " SELECT nonce, 0 AS place, 0 AS mode, 1 AS permits, 0 AS fair, fence, bond"
    "  FROM {lock} WHERE name = $1 AND nonce IS NOT NULL"
    " UNION ALL SELECT nonce, place, mode, permits, fair, fence, bond"
    "  FROM {line} WHERE name = $1 AND place = 0"
    " UNION ALL (SELECT nonce, place, mode, permits, fair, fence, bond"
    "  FROM {line} WHERE name = $1 AND place > 0 ORDER BY place LIMIT {shown}))"
    " SELECT {now}, l.fence, l.version, l.waiters,"
    " (SELECT place FROM {line} WHERE name = $1 AND nonce = $2),"
    " (SELECT count(*) FROM {line} WHERE name = $1 AND place > 0 AND place <"
    "  coalesce((SELECT place FROM {line} WHERE name = $1 AND nonce = $2), 9223372036854775807)),"
    " n.nonce, n.place, n.mode, n.permits, n.fair, n.fence,"
    " b.id, b.ttl, b.lock_delay, b.expires_at, b.renewals, b.host, b.pid, b.purpose, n.bond"
    " FROM {lock} l LEFT JOIN n ON 1 = 1 LEFT JOIN {bond} b ON b.id = n.bond"
    " WHERE l.name = $1 ORDER BY n.place";

std::string_view common_text(query which) noexcept {
    switch (which) {
    case query::look:
        return look;
    case query::calm:
        return "UPDATE {lock} SET waiters = 0, version = version + 1 WHERE name = $1"
               " AND version = $2 AND NOT EXISTS"
               " (SELECT 1 FROM {line} WHERE name = $1 AND place > 0)";
    case query::bell_hang:
        return "UPDATE {bond} SET bell = $2 WHERE client = $1";
    case query::rung_for:
        return "SELECT n.nonce FROM {bond} b JOIN {line} n ON n.bond = b.id"
               " JOIN {lock} l ON l.name = n.name"
               " WHERE b.client = $1 AND n.place > 0 AND l.nonce IS NULL AND CASE n.mode"
               " WHEN 0 THEN l.shared = 0 AND l.permits = 0 WHEN 1 THEN l.permits = 0"
               " ELSE l.permits < n.permits END";
    case query::taken_from:
        return "SELECT nonce FROM {line} WHERE client = $1 AND place = -1";
    case query::taken_told:
        return "DELETE FROM {line} WHERE nonce = $1 AND place = -1";
    case query::parties: // at one moment: who is handed a lock is seen once
        return "SELECT {now}, p.name, p.mode, p.fence, p.since,"
               " b.id, b.ttl, b.lock_delay, b.expires_at, b.renewals, b.host, b.pid, b.purpose,"
               " p.place"
               " FROM (SELECT name, 0 AS mode, fence, since, bond, 0 AS place FROM {lock}"
               " WHERE nonce IS NOT NULL UNION ALL"
               " SELECT name, mode, fence, since, bond, place FROM {line} WHERE place >= 0) p"
               " JOIN {bond} b ON b.id = p.bond ORDER BY p.name, p.place, p.since";
    case query::idle_bonds:
        return "SELECT {now}, id, ttl, lock_delay, expires_at, renewals, host, pid, purpose"
               " FROM {bond} WHERE expires_at + lock_delay < {now}";
    case query::idle_lines_remove:
        return "DELETE FROM {line} WHERE place <> 0 AND bond NOT IN (SELECT id FROM {bond})";
    case query::idle_locks_remove: // one that is held by nobody who lives is idle, too. The next
                                   // fence comes from the clock: it must have passed this one
        return "DELETE FROM {lock} WHERE shared = 0 AND permits = 0"
               " AND since < {now} - $1 AND fence < {now} - $1"
               " AND (nonce IS NULL OR bond NOT IN (SELECT id FROM {bond}))"
               " AND name NOT IN (SELECT name FROM {line})";
    default:
        return {};
    }
}

} // namespace holdfast::relational
