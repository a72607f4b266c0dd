#include "backends/relational/view.hpp"

#include <algorithm>
#include <cstring>

namespace holdfast::relational {
namespace {

constexpr duration margin = std::chrono::milliseconds{5};
constexpr std::size_t sights_kept = 10'000;

[[nodiscard]] duration microseconds(std::int64_t n) { return std::chrono::microseconds{n}; }

/// Those who hold it, as far as it matters to the next.
struct crowd {
    std::size_t alone = 0, shared = 0, permits = 0;
    nonce writer{};

    void add(const line_row& r) {
        if (r.mode == mode::exclusive) {
            ++alone;
            writer = r.nonce;
        } else {
            ++(r.mode == mode::shared ? shared : permits);
        }
    }
    [[nodiscard]] bool admits(const claim& c) const {
        switch (c.mode) {
        case mode::exclusive:
            return alone + shared + permits == 0;
        case mode::shared:
            return permits == 0 && (alone == 0 || (c.within && *c.within == writer));
        case mode::permit:
            return alone + shared == 0 && permits < c.permits;
        }
        return false;
    }
};

/// Only who wants it alone overtakes, and only those who do not mind.
[[nodiscard]] bool must_let_pass(const claim& c, const line_row& waiter) {
    return waiter.fair || c.mode != mode::exclusive;
}

} // namespace

nonce nonce_from(std::string_view raw) {
    nonce made;
    std::memcpy(made.bytes.data(), raw.data(), std::min(raw.size(), made.bytes.size()));
    return made;
}

std::string raw_of(const nonce& n) {
    return {reinterpret_cast<const char*>(n.bytes.data()), n.bytes.size()};
}

bond_row read_bond(const table& t, std::size_t row, std::size_t first) {
    return {.id = t.number(row, first),
            .ttl = microseconds(t.number(row, first + 1)),
            .lock_delay = microseconds(t.number(row, first + 2)),
            .expires_at = t.number(row, first + 3),
            .renewals = t.number(row, first + 4),
            .whose = {std::string{t.text(row, first + 5)},
                      t.number(row, first + 6),
                      std::string{t.text(row, first + 7)}}};
}

view read_view(const table& t) {
    view seen;
    if (t.empty())
        return seen;
    seen.exists = true;
    seen.now = t.number(0, 0);
    seen.fence = t.number(0, 1);
    seen.version = t.number(0, 2);
    seen.waiters = t.number(0, 3);
    seen.my_place = t.number(0, 4);
    seen.ahead = static_cast<std::uint32_t>(t.number(0, 5));
    for (std::size_t row = 0; row < t.rows(); ++row) {
        if (t.is_null(row, 6))
            continue;
        auto& one = seen.rows.emplace_back();
        one.nonce = nonce_from(t.text(row, 6));
        one.place = t.number(row, 7);
        one.mode = static_cast<mode>(t.number(row, 8));
        one.permits = static_cast<std::uint32_t>(t.number(row, 9));
        one.fair = t.number(row, 10) != 0;
        one.fence = holdfast::fence{t.number(row, 11)};
        one.bond = t.number(row, 20);
        if (!t.is_null(row, 12))
            one.kept_by = read_bond(t, row, 12);
    }
    return seen;
}

duration sightings::seen_for(const bond_row& b, instant now) {
    if (seen_.size() > sights_kept)
        std::erase_if(seen_, [&](const auto& one) {
            return now - one.second.last > std::chrono::minutes{10};
        });
    auto [at, is_new] = seen_.try_emplace(b.id, sight{b.renewals, now, now});
    if (!is_new && at->second.renewals != b.renewals)
        at->second = {b.renewals, now, now};
    at->second.last = now;
    return now - at->second.since;
}

ending
end_of(const bond_row& b, sql::stealing how, server_time server_now, sightings& seen, instant now) {
    const auto by_clock = microseconds(b.expires_at - server_now) + b.lock_delay;
    // Our clock may be slower than that of the holder: the difference is what his own allows for.
    const auto whole = b.ttl + b.ttl / 1000 + b.lock_delay + margin;
    const auto by_sight = whole - seen.seen_for(b, now);
    // What was seen is always true; so a clock that was set back makes nobody wait for ever.
    const auto left = how == sql::stealing::clock     ? std::min(by_clock, by_sight)
                      : how == sql::stealing::observe ? by_sight
                                                      : std::max(by_clock, by_sight);
    return {left <= duration::zero(), std::max(left, duration::zero())};
}

next_step decide(const view& seen,
                 const claim& c,
                 bond_id bond,
                 sql::stealing how,
                 sightings& sights,
                 instant now) {
    next_step next;
    if (!seen.exists) {
        next.what = next_step::kind::make_row;
        return next;
    }
    crowd holding;
    bool queue_blocks = false;
    std::int64_t others = 0; // who will still wait when we are in
    int shown = 0;
    std::int64_t last_shown = 0;
    for (const auto& r : seen.rows) {
        const bool mine = r.nonce == c.nonce;
        shown += r.place > 0 ? 1 : 0;
        last_shown = std::max(last_shown, r.place);
        if (!r.kept_by || (mine && r.kept_by->id != static_cast<std::int64_t>(bond))) {
            next.rubbish.push_back(r);
            continue;
        }
        if (mine && r.place == 0) {
            next.what = next_step::kind::is_ours;
            next.fence = r.fence;
            return next;
        }
        if (mine)
            continue;
        const auto ends = end_of(*r.kept_by, how, seen.now, sights, now);
        if (ends.over) {
            next.over.push_back(r);
            continue;
        }
        if (r.place == 0) {
            holding.add(r);
            next.look_again = std::min(next.look_again, ends.look_again);
            if (!next.holder)
                next.holder = r.kept_by->whose;
            continue;
        }
        others |= somebody_waits | (r.fair ? fair_ones_wait : 0);
        const bool before_us = seen.my_place == 0 || r.place < seen.my_place;
        if (before_us && must_let_pass(c, r)) {
            queue_blocks = true;
            next.look_again = std::min(next.look_again, ends.look_again);
            if (!next.holder)
                next.holder = r.kept_by->whose;
        }
    }
    if (!next.over.empty() || !next.rubbish.empty()) {
        next.what = next_step::kind::sweep;
        return next;
    }
    const bool all_shown = shown < waiters_shown; // else there may be more
    next.waiters_after = all_shown ? others : seen.waiters;
    const bool behind_all = seen.my_place == 0 || seen.my_place > last_shown;
    if (!all_shown && behind_all && (seen.waiters & fair_ones_wait) != 0)
        queue_blocks = true; // a fair one may be among those who are not shown
    next.ahead = seen.ahead + 1;
    // Who reads under his own write waits for nobody.
    const bool inside = c.within && holding.alone == 1 && holding.writer == *c.within;
    if (holding.admits(c) && (!queue_blocks || inside))
        next.what = next_step::kind::admit;
    return next;
}

} // namespace holdfast::relational
