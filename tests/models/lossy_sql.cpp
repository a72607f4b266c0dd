#include "models/lossy_sql.hpp"
#include "lease/defect.hpp"
#include "models/admits.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::models {
namespace {

constexpr std::uint32_t block = 4; // fences reserved with each exclusive grant

template <class Rows> [[nodiscard]] auto find_row(Rows& rows, const nonce& whose) {
    return std::find_if(
        rows.begin(), rows.end(), [&](const auto& r) { return r.by->nonce == whose; });
}

template <class Row> void prolong(Row& r, duration clock) {
    r.expires = std::max(r.expires, clock + r.by->ttl); // statements may overtake each other
    r.free_at = r.expires + r.by->lock_delay;
}

} // namespace

const capabilities& lossy_sql_client::able() const noexcept {
    static constexpr capabilities what{
        .engine = "lossy_sql",
        .reach = reach::network,
        .shared = true,
        .permits = true,
        .fair = true,
        .lock_delay = true,
        .fence_per_pass = true,
        .raises_fences = true,
        .fences = fence_grade::hybrid,
        .wake = wake_by::polling,
    };
    return what;
}

void lossy_sql_server::receive(const request& r) {
    const auto row_lock =
        room_.luck().between(std::chrono::microseconds{20}, std::chrono::milliseconds{2});
    room_.call_after(row_lock, [this, r, clock = room_.now(), life = life_] {
        if (life == life_)
            apply(r, clock);
    });
}

void lossy_sql_server::apply(const request& r, duration clock) {
    auto& luck = room_.luck();
    reply answer{.what = reply::kind::failed, .number = r.number};
    if (luck.permille(deadlock_permille)) {
        answer.certainty = applied::no; // chosen as the victim of a deadlock
    } else if (luck.permille(unknown_commit_permille)) {
        if (luck.permille(500))
            execute(r, clock);
    } else {
        answer = execute(r, clock);
        answer.number = r.number;
    }
    room_.send(r.from, std::move(answer));
}

reply lossy_sql_server::execute(const request& r, duration clock) {
    if (r.what == request::verb::renew) {
        reply answer{.what = reply::kind::renewed};
        for (const auto& by : r.all)
            answer.still_held.push_back(by && renew(*by, r.from, clock));
        return answer;
    }
    auto& t = tables_[r.about->name];
    return r.what == request::verb::attempt ? attempt(t, r, clock)
           : r.what == request::verb::raise ? raise(t, r)
                                            : remove(t, r);
}

reply lossy_sql_server::attempt(table& t, const request& r, duration clock) {
    const auto& asks = *r.about;
    if (const auto ours = find_row(t.holders, asks.nonce); ours != t.holders.end()) {
        prolong(*ours, clock);
        return {.what = reply::kind::granted,
                .fence = ours->fence,
                .reserved = ours->fence ? block : 0};
    }
    expire(t, clock);
    auto place = find_row(t.waiters, asks.nonce);
    if (admitted(t, asks)) {
        if (place != t.waiters.end())
            t.waiters.erase(place);
        auto& ours = t.holders.emplace_back(row{r.about, r.from, next_fence(t, asks), {}, {}});
        prolong(ours, clock);
        const auto reserved = asks.mode == mode::exclusive ? block : 0;
        room_.granted(asks, r.from, ours.fence, reserved);
        return {.what = reply::kind::granted, .fence = ours.fence, .reserved = reserved};
    }
    if (r.join == joining::queue) {
        if (place == t.waiters.end())
            place = t.waiters.insert(place, row{r.about, r.from, {}, {}, {}});
        prolong(*place, clock);
    }
    auto first_free = forever;
    for (const auto& h : t.holders)
        first_free = std::min(first_free, h.free_at - clock);
    return {.what = reply::kind::contended,
            .place = static_cast<std::uint32_t>(place - t.waiters.begin()),
            .retry_after = std::min<duration>(first_free, std::chrono::milliseconds{100})};
}

// Those who asked earlier come first; a claim that asks but once does not overtake them either.
bool lossy_sql_server::admitted(const table& t, const claim& asks) const {
    auto before_us = t.holders;
    for (const auto& w : t.waiters) {
        if (w.by->nonce == asks.nonce)
            break;
        if (!asks.within)
            before_us.push_back(w);
    }
    return admits(before_us, asks);
}

reply lossy_sql_server::remove(table& t, const request& r) {
    const auto& whose = r.about->nonce;
    if (r.what == request::verb::withdraw)
        std::erase_if(t.waiters, [&](const row& w) { return w.by->nonce == whose; });
    const auto gone = std::erase_if(t.holders, [&](const row& h) {
        return h.by->nonce == whose || detail::has(detail::defect::release_without_nonce);
    });
    if (r.what == request::verb::withdraw)
        return {.what = reply::kind::withdrawn};
    return {.what = gone > 0 ? reply::kind::released : reply::kind::lost};
}

reply lossy_sql_server::raise(table& t, const request& r) {
    const auto ours = find_row(t.holders, r.about->nonce);
    if (ours == t.holders.end())
        return {.what = reply::kind::not_raised};
    ours->fence = std::max(ours->fence, r.least);
    t.last_fence = std::max(t.last_fence, ours->fence.value() + block);
    return {.what = reply::kind::raised};
}

bool lossy_sql_server::renew(const claim& by, process_id from, duration clock) {
    auto& t = tables_[by.name];
    for (auto* rows : {&t.holders, &t.waiters})
        if (const auto ours = find_row(*rows, by.nonce); ours != rows->end()) {
            prolong(*ours, clock);
            return true;
        }
    if (detail::has(detail::defect::renewal_recreates)) {
        t.holders = {row{std::make_shared<claim>(by), from, fence{t.last_fence}, {}, {}}};
        prolong(t.holders.back(), clock);
        return true;
    }
    return false;
}

void lossy_sql_server::expire(table& t, duration clock) {
    const auto over = [&](const row& r) { return r.free_at <= clock; };
    t.taken_over = std::erase_if(t.holders, over) > 0 || t.taken_over;
    if (std::erase_if(t.waiters, over) > 0)
        room_.saw(sighting::predecessor_in_queue_died);
}

fence lossy_sql_server::next_fence(table& t, const claim& asks) {
    if (asks.mode == mode::permit)
        return {};
    if (asks.mode == mode::shared)
        return fence{t.last_fence};
    if (std::exchange(t.taken_over, false) && detail::has(detail::defect::fence_not_raised))
        return fence{t.last_fence};
    const auto next = t.last_fence + 1;
    t.last_fence = next + block;
    return fence{next};
}

void lossy_sql_server::restart(memory) { ++life_; } // what was committed stays

void lossy_sql_server::take_away(const std::string& name) { // its holder learns it when it renews
    tables_[name].holders.clear();
}

bool lossy_sql_server::backs(const claim& by) {
    auto& t = tables_[by.name];
    const auto ours = find_row(t.holders, by.nonce);
    return ours != t.holders.end() && ours->expires > room_.now();
}

std::size_t lossy_sql_server::remembers(std::optional<process_id> whose) {
    std::size_t count = 0;
    for (auto& [name, t] : tables_)
        for (const auto* rows : {&t.holders, &t.waiters})
            for (const auto& r : *rows)
                count += r.free_at > room_.now() && (!whose || r.from == *whose);
    return count;
}

} // namespace holdfast::models
