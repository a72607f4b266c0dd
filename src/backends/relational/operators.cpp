// What operators ask: who holds what, is the server well, take it away.

#include "backends/relational/backend.hpp"

#include <algorithm>
#include <fnmatch.h>
#include <map>

namespace holdfast::relational {
namespace {

[[nodiscard]] duration microseconds(std::int64_t n) { return std::chrono::microseconds{n}; }

[[nodiscard]] std::string remark_on(const bond_row& b, server_time now) {
    if (now < b.expires_at)
        return {};
    return microseconds(now - b.expires_at) < b.lock_delay
               ? "expired; its lock delay still keeps others out"
               : "expired; free for the next who asks";
}

/// A row of query::parties.
void add_party(const table& rows, std::size_t i, lock_info& to) {
    const auto now = rows.number(i, 0);
    const auto how = static_cast<mode>(rows.number(i, 2));
    const auto kept_by = read_bond(rows, i, 5);
    const auto so_long = microseconds(std::max<std::int64_t>(now - rows.number(i, 4), 0));
    if (rows.number(i, 13) > 0)
        to.waiters.push_back({.who = kept_by.whose, .mode = how, .waited_for = so_long});
    else
        to.holders.push_back(
            {.who = kept_by.whose,
             .mode = how,
             .fence = how == mode::permit ? fence{} : fence{rows.number(i, 3)},
             .held_for = so_long,
             .remaining = microseconds(std::max<std::int64_t>(kept_by.expires_at - now, 0)),
             .remark = remark_on(kept_by, now)});
}

/// Waits no more, and nobody has swept him yet.
[[nodiscard]] bool is_gone(const table& rows, std::size_t i) {
    return rows.number(i, 13) > 0 && rows.number(i, 0) >= read_bond(rows, i, 5).expires_at;
}

} // namespace

void sql_backend::inspect(const call& c, const std::string& pattern) {
    tell_what_is_there(c, pattern);
}

conversation sql_backend::tell_what_is_there(call c, std::string pattern) {
    statement asks{.what = query::parties};
    asking asked{*lines_, std::move(asks), {}, c.answer_by};
    const auto got = co_await asked;
    if (const auto* wrong = std::get_if<trouble>(&got)) {
        events_->inspected(c.ticket, wrong->why);
        co_return;
    }
    const auto& rows = std::get<table>(got);
    std::map<std::string, lock_info> all;
    for (std::size_t i = 0; i < rows.rows(); ++i) {
        const std::string name{rows.text(i, 1)};
        if (::fnmatch(pattern.c_str(), name.c_str(), 0) == 0 && !is_gone(rows, i))
            add_party(rows, i, all[name]);
    }
    std::vector<lock_info> found;
    for (auto& [name, one] : all) {
        one.name = name;
        found.push_back(std::move(one));
    }
    events_->inspected(c.ticket, std::move(found));
}

void sql_backend::examine(const call& c) { tell_health(c); }

conversation sql_backend::tell_health(call c) {
    std::vector<table> answers;
    for (auto& question : database_->health_questions()) {
        statement asks{.text = question};
        asking asked{*lines_, std::move(asks), {}, c.answer_by};
        auto got = co_await asked;
        if (const auto* wrong = std::get_if<trouble>(&got)) {
            std::vector<finding> bad{{finding::grade::danger, wrong->why.detail, {}}};
            events_->examined(c.ticket, std::move(bad));
            co_return;
        }
        answers.push_back(std::move(std::get<table>(got)));
    }
    events_->examined(c.ticket, database_->health(answers));
}

void sql_backend::raise_fence(const call& c, const held& what, fence least) {
    raise(c, what, least);
}

conversation sql_backend::raise(call c, held what, fence least) {
    statement raises{.what = query::raise_fence,
                     .with = {what->name, octets{raw_of(what->nonce)}, least.value()}};
    auto asked = on_hot(std::move(raises), *what, c.answer_by);
    const auto got = co_await asked;
    const auto* rows = std::get_if<table>(&got);
    events_->fence_raised(c.ticket,
                          rows == nullptr ? raised::unknown
                          : rows->empty() ? raised::lost
                                          : raised::yes);
}

void sql_backend::force_release(const call& c, const std::string& name) { force(c, name); }

conversation sql_backend::force(call c, std::string name) {
    statement forces{.what = query::force_release, .with = {name}};
    asking asked{*lines_, std::move(forces), name, c.answer_by};
    const auto got = co_await asked;
    if (const auto* wrong = std::get_if<trouble>(&got)) {
        events_->forced(c.ticket, wrong->why);
        co_return;
    }
    const auto& rows = std::get<table>(got);
    const auto count = rows.empty() ? 0 : rows.number(0, 0);
    if (count > 0)
        wake_next(name);
    events_->forced(c.ticket, static_cast<std::size_t>(count));
}

} // namespace holdfast::relational
