#include "models/volatile_ttl.hpp"
#include "lease/defect.hpp"
#include "models/admits.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::models {
namespace {

constexpr std::uint32_t block = 8; // fences reserved with each exclusive grant

} // namespace

const capabilities& volatile_ttl_client::able() const noexcept {
    static constexpr capabilities what{
        .engine = "volatile_ttl",
        .reach = reach::network,
        .shared = true,
        .permits = true,
        .lock_delay = true,
        .fence_per_pass = true,
        .raises_fences = true,
        .fences = fence_grade::hybrid,
        .wake = wake_by::hint,
    };
    return what;
}

void volatile_ttl_server::receive(const request& r) {
    reply answer;
    if (r.what == request::verb::renew) {
        answer = renew(r);
    } else {
        auto& l = locks_[r.about->name];
        expire(l);
        answer = r.what == request::verb::attempt ? attempt(l, r)
                 : r.what == request::verb::raise ? raise(l, r)
                                                  : remove(l, r);
    }
    answer.number = r.number;
    room_.send(r.from, std::move(answer));
}

reply volatile_ttl_server::attempt(lock& l, const request& r) {
    const auto& asks = *r.about;
    const auto listens = [&](const listener& one) { return one.whose == asks.nonce; };
    for (auto& k : l.keys)
        if (k.by->nonce == asks.nonce) {
            prolong(k);
            return {
                .what = reply::kind::granted, .fence = k.fence, .reserved = k.fence ? block : 0};
        }
    if (admits(l.keys, asks)) {
        std::erase_if(l.listeners, listens);
        auto& k = l.keys.emplace_back(key{r.about, r.from, next_fence(l, asks), {}, {}});
        prolong(k);
        const auto reserved = asks.mode == mode::exclusive ? block : 0;
        room_.granted(asks, r.from, k.fence, reserved);
        return {.what = reply::kind::granted, .fence = k.fence, .reserved = reserved};
    }
    if (r.join == joining::queue && std::none_of(l.listeners.begin(), l.listeners.end(), listens))
        l.listeners.push_back({asks.nonce, r.from});
    auto first_free = forever;
    for (const auto& k : l.keys) {
        room_.send(k.from, push{push::kind::wanted, k.by->nonce, {}, {}});
        first_free = std::min(first_free, k.free_at - room_.now());
    }
    return {.what = reply::kind::contended, .retry_after = first_free};
}

// Release and withdraw: the same compare and delete.
reply volatile_ttl_server::remove(lock& l, const request& r) {
    const auto& whose = r.about->nonce;
    const auto before = l.keys.size();
    std::erase_if(l.keys, [&](const key& k) {
        return k.by->nonce == whose || detail::has(detail::defect::release_without_nonce);
    });
    std::erase_if(l.listeners, [&](const listener& one) { return one.whose == whose; });
    const bool was_there = l.keys.size() < before;
    if (was_there)
        publish(l);
    if (r.what == request::verb::withdraw)
        return {.what = reply::kind::withdrawn};
    return {.what = was_there ? reply::kind::released : reply::kind::lost};
}

reply volatile_ttl_server::raise(lock& l, const request& r) {
    for (auto& k : l.keys)
        if (k.by->nonce == r.about->nonce) {
            k.fence = std::max(k.fence, r.least);
            l.last_fence = std::max(l.last_fence, k.fence.value() + block);
            return {.what = reply::kind::raised};
        }
    return {.what = reply::kind::not_raised};
}

reply volatile_ttl_server::renew(const request& r) {
    reply answer{.what = reply::kind::renewed};
    for (const auto& by : r.all)
        answer.still_held.push_back(by && renew_one(*by, r.from));
    return answer;
}

bool volatile_ttl_server::renew_one(const claim& by, process_id from) {
    auto& l = locks_[by.name];
    expire(l);
    for (auto& k : l.keys)
        if (k.by->nonce == by.nonce) {
            prolong(k);
            return true;
        }
    if (detail::has(detail::defect::renewal_recreates)) {
        l.keys.clear();
        l.keys.push_back({std::make_shared<claim>(by), from, fence{l.last_fence}, {}, {}});
        prolong(l.keys.back());
        return true;
    }
    return false;
}

void volatile_ttl_server::prolong(key& k) {
    const auto early = room_.luck().between(duration::zero(), volatile_ttl_client::margin);
    k.expires = std::max(k.expires, room_.now() + k.by->ttl - early);
    k.free_at = k.expires + k.by->lock_delay;
}

void volatile_ttl_server::expire(lock& l) {
    const auto gone = std::erase_if(l.keys, [&](const key& k) { return k.free_at <= room_.now(); });
    l.taken_over = l.taken_over || gone > 0;
}

fence volatile_ttl_server::next_fence(lock& l, const claim& asks) {
    if (asks.mode == mode::permit)
        return {};
    if (asks.mode == mode::shared)
        return fence{l.last_fence};
    if (std::exchange(l.taken_over, false) && detail::has(detail::defect::fence_not_raised))
        return fence{l.last_fence};
    const auto clock = std::chrono::duration_cast<std::chrono::microseconds>(room_.now()).count();
    const auto next = std::max(l.last_fence + 1, static_cast<std::int64_t>(clock));
    l.last_fence = next + block;
    return fence{next};
}

void volatile_ttl_server::publish(lock& l) {
    for (const auto& one : l.listeners)
        room_.send(one.from, push{push::kind::woken, one.whose, {}, {}});
}

void volatile_ttl_server::restart(memory what) {
    for (auto& [name, l] : locks_)
        l.listeners.clear(); // subscriptions end with their connections
    if (what == memory::wiped) {
        room_.saw(sighting::engine_forgot_everything);
        locks_.clear();
    }
}

void volatile_ttl_server::take_away(const std::string& name) {
    auto& l = locks_[name];
    for (const auto& k : l.keys)
        room_.send(k.from, push{push::kind::taken, k.by->nonce, {}, {}});
    l.keys.clear();
    publish(l);
}

bool volatile_ttl_server::backs(const claim& by) {
    for (const auto& k : locks_[by.name].keys)
        if (k.by->nonce == by.nonce && k.expires > room_.now())
            return true;
    return false;
}

std::size_t volatile_ttl_server::remembers(std::optional<process_id> whose) {
    std::size_t count = 0;
    for (auto& [name, l] : locks_) {
        expire(l);
        for (const auto& k : l.keys)
            count += !whose || k.from == *whose;
    }
    return count;
}

} // namespace holdfast::models
