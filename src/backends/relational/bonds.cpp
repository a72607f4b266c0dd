// What keeps our grants and places: one bond for each ttl, or one of its own.

#include "backends/relational/backend.hpp"
#include "backends/relational/parts.hpp"

#include <algorithm>
#include <unistd.h>

namespace holdfast::relational {
namespace {

/// What a database takes for text: no half characters.
[[nodiscard]] std::string readable(std::string text) {
    for (std::size_t i = 0; i < text.size();) {
        const auto lead = static_cast<unsigned char>(text[i]);
        const std::size_t length = lead < 0x20   ? 0
                                   : lead < 0x80 ? 1
                                   : lead < 0xc2 ? 0
                                   : lead < 0xe0 ? 2
                                   : lead < 0xf0 ? 3
                                   : lead < 0xf5 ? 4
                                                 : 0;
        bool whole = length > 0 && i + length <= text.size();
        for (std::size_t k = 1; whole && k < length; ++k)
            whole = (static_cast<unsigned char>(text[i + k]) & 0xc0) == 0x80;
        if (whole && length == 3) // too long, or half of a pair
            whole = !(lead == 0xe0 && static_cast<unsigned char>(text[i + 1]) < 0xa0) &&
                    !(lead == 0xed && static_cast<unsigned char>(text[i + 1]) > 0x9f);
        if (whole && length == 4)
            whole = !(lead == 0xf0 && static_cast<unsigned char>(text[i + 1]) < 0x90) &&
                    !(lead == 0xf4 && static_cast<unsigned char>(text[i + 1]) > 0x8f);
        if (!whole)
            text[i] = '?';
        i += whole ? length : 1;
    }
    return text;
}

} // namespace

// A bell that is hung up meanwhile is told to all bonds.
statement sql_backend::addition(bond_id id, const claim& w) const {
    const auto who = w.by ? *w.by : party{.host = {}, .pid = ::getpid(), .purpose = {}};
    return {.what = query::bond_add,
            .with = {number_of(id),
                     client_,
                     microseconds(w.ttl),
                     microseconds(w.lock_delay),
                     bell_.load(),
                     readable(who.host),
                     who.pid,
                     readable(who.purpose)}};
}

part_of<sql_backend::kept> sql_backend::keep_bond(call c, held what) {
    if (shares_bond(*what))
        return keep_common_bond(c, std::move(what));
    return keep_own_bond(c, std::move(what));
}

part_of<sql_backend::kept> sql_backend::keep_own_bond(call c, held what) {
    const auto id = own_bond(*what);
    const bond_terms terms{id, boot_clock::now(), what->ttl, margin};
    auto asked = on_hot(addition(id, *what), *what, c.answer_by);
    const auto got = co_await asked;
    if (const auto* wrong = std::get_if<trouble>(&got))
        co_return wrong->why;
    const std::lock_guard lock{guard_};
    bonds_.insert_or_assign(id, known_bond{terms, what->lock_delay});
    co_return terms;
}

// A third of its time is what it may be old: then the keeper would renew it, too.
part_of<sql_backend::kept> sql_backend::keep_common_bond(call c, held what) {
    const auto key = std::to_string(what->ttl.count());
    for (;;) {
        const auto now = boot_clock::now();
        {
            const std::lock_guard lock{guard_};
            if (const auto known = known_common(what->ttl);
                known && now - known->anchor < what->ttl / 3)
                co_return *known;
        }
        if (keeping_.begin_alone(key))
            break;
        if (now >= c.answer_by)
            co_return failure{make_error_code(errc::backend_unavailable),
                              applied::no,
                              "the server did not answer in time"};
        doings::until_done others{keeping_, key};
        co_await others;
    }

    std::optional<bond_terms> before;
    auto id = bond_id{};
    {
        const std::lock_guard lock{guard_};
        before = known_common(what->ttl);
        id = before ? before->bond
                    : bond_id{static_cast<std::uint64_t>(number_from(chance_.next()))};
    }
    const bond_terms terms{id, boot_clock::now(), what->ttl, margin};
    auto keeps =
        before ? statement{.what = query::bond_keep, .with = {number_of(id)}} : addition(id, *what);
    asking asked{*lines_, std::move(keeps), {}, c.answer_by};
    const auto got = co_await asked;

    const auto* wrong = std::get_if<trouble>(&got);
    const bool is_gone = wrong == nullptr && std::get<table>(got).empty();
    {
        const std::lock_guard lock{guard_};
        if (is_gone) {
            bonds_.erase(id);
        } else if (wrong == nullptr) {
            bonds_.insert_or_assign(id, known_bond{terms, {}});
            common_.insert_or_assign(what->ttl, id);
        }
    }
    keeping_.end(key);
    if (wrong != nullptr)
        co_return wrong->why;
    if (!is_gone)
        co_return terms;
    events_->bond_lost(id);
    auto anew = keep_common_bond(c, what);
    co_return co_await anew;
}

/// With the lock held.
std::optional<bond_terms> sql_backend::known_common(duration ttl) const {
    const auto common = common_.find(ttl);
    if (common == common_.end())
        return std::nullopt;
    const auto known = bonds_.find(common->second);
    return known == bonds_.end() ? std::nullopt : std::optional{known->second.terms};
}

void sql_backend::renew(const call& c, std::span<const bond_id> bonds) {
    prolong(c, {bonds.begin(), bonds.end()});
}

conversation sql_backend::prolong(call c, std::vector<bond_id> bonds) {
    one_of ids;
    for (const auto id : bonds)
        ids.ids.push_back(number_of(id));
    statement renews{.what = query::bonds_renew, .with = {std::move(ids)}};
    asking asked{*own_line_, std::move(renews), {}, c.answer_by};
    const auto got = co_await asked;

    const auto* rows = std::get_if<table>(&got);
    std::unordered_set<std::int64_t> there;
    std::vector<nonce> lost;
    for (std::size_t i = 0; rows != nullptr && i < rows->rows(); ++i) {
        if (rows->is_null(i, 1))
            there.insert(rows->number(i, 0));
        else
            lost.push_back(nonce_from(rows->text(i, 1)));
    }
    std::vector<renewal_answer> answers;
    {
        const std::lock_guard lock{guard_};
        for (const auto id : bonds) {
            const auto known = bonds_.find(id);
            if (rows == nullptr) {
                answers.push_back({id, renewed::unknown, {}});
            } else if (known == bonds_.end() || !there.contains(number_of(id))) {
                answers.push_back({id, renewed::lost, {}});
                bonds_.erase(id);
            } else {
                auto& terms = known->second.terms;
                terms.anchor = std::max(terms.anchor, c.asked);
                answers.push_back({id, renewed::yes, terms});
            }
        }
    }
    events_->renewed(c.ticket, answers);
    for (const auto& each : lost)
        taken(each);
}

void sql_backend::forget(bond_id bond) {
    std::vector<nonce> fronts;
    {
        const std::lock_guard lock{guard_};
        bonds_.erase(bond);
        for (const auto& [n, one] : fronted_)
            if (one.bond == bond)
                fronts.push_back(n);
    }
    for (const auto& each : fronts)
        give_up_front(each);
}

} // namespace holdfast::relational
