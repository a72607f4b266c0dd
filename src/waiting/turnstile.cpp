#include "waiting/turnstile.hpp"

#include <algorithm>

namespace holdfast::detail {
namespace {

// Long enough to make a hand-over inside a process cheap, short enough that others hardly notice.
constexpr duration passing_time = std::chrono::milliseconds{50};

} // namespace

shape shape::of(const request& r) noexcept {
    const auto& o = r.options;
    return {r.kind, r.mode, r.permits, o.ttl, o.lock_delay, o.renew, o.order, o.waiting, {}};
}

std::size_t turnstile::talks_wanted() const noexcept {
    if (fair())
        return wishes.size();
    if (wishes.empty() || (like.mode == mode::exclusive && !grants.empty()))
        return 0;
    return 1;
}

std::size_t turnstile::talks_going() const noexcept {
    return static_cast<std::size_t>(
        std::count_if(talks.begin(), talks.end(), [](const talk& t) { return !t.leaving(); }));
}

engine_grant* turnstile::open_for_readers(instant now) noexcept {
    if (like.mode != mode::shared || fair())
        return nullptr;
    for (auto& g : grants)
        if (!g.wanted && now - g.since < passing_time && g.by != nullptr && now < g.by->deadline())
            return &g;
    return nullptr;
}

bool turnstile::may_pass(const engine_grant& g, instant now) const noexcept {
    if (fair() || wishes.empty() || like.mode == mode::shared || !like.renew)
        return false;
    if (g.by == nullptr || now >= g.by->deadline())
        return false;
    if (has(defect::never_lets_go))
        return true;
    return !g.wanted && g.passes < g.given.passes && now - g.since < passing_time;
}

fence turnstile::next_fence(const engine_grant& g) noexcept {
    const auto base = g.given.fence.value();
    return fence{base == 0 ? 0 : base + std::min(g.passes, g.given.reserved)};
}

} // namespace holdfast::detail
