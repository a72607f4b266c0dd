#include <holdfast/metrics.hpp>

#include <algorithm>
#include <bit>

namespace holdfast {
namespace {

// Bucket 4·e + q holds what is in [2^e · (4+q)/4, 2^e · (5+q)/4) microseconds.
[[nodiscard]] std::size_t bucket_of(duration d) noexcept {
    const auto us = static_cast<std::uint64_t>(std::max<duration::rep>(d.count() / 1000, 1));
    const auto exponent = static_cast<std::size_t>(std::bit_width(us) - 1);
    // The two bits below the highest; a small number has fewer, and is shifted up.
    const auto quarter =
        static_cast<std::size_t>(exponent >= 2 ? us >> (exponent - 2) : us << (2 - exponent)) & 3U;
    return std::min(4 * exponent + quarter, histogram::buckets - 1);
}

} // namespace

void histogram::record(duration d) noexcept {
    seen_[bucket_of(d)].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(std::max<duration::rep>(d.count(), 0), std::memory_order_relaxed);
}

std::uint64_t histogram::count() const noexcept {
    std::uint64_t all = 0;
    for (const auto& n : seen_)
        all += n.load(std::memory_order_relaxed);
    return all;
}

duration histogram::sum() const noexcept { return duration{sum_.load(std::memory_order_relaxed)}; }

std::uint64_t histogram::in_bucket(std::size_t i) const noexcept {
    return seen_[i].load(std::memory_order_relaxed);
}

duration histogram::upper_bound_of(std::size_t bucket) noexcept {
    const auto exponent = bucket / 4, quarter = bucket % 4;
    return std::chrono::nanoseconds{(std::int64_t{1000} << exponent) / 4 *
                                    static_cast<std::int64_t>(5 + quarter)};
}

duration histogram::quantile(double part) const noexcept {
    const auto all = count();
    const auto wanted = std::clamp(part, 0.0, 1.0) * static_cast<double>(all);
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < buckets; ++i) {
        below += in_bucket(i);
        if (below > 0 && static_cast<double>(below) >= wanted)
            return upper_bound_of(i);
    }
    return {};
}

void metrics::on(const event& what) {
    counts_[static_cast<std::size_t>(what.what)].fetch_add(1, std::memory_order_relaxed);
    switch (what.what) {
    case event::kind::granted:
        if (what.handed_over > duration::zero())
            hand_off.record(what.handed_over);
        [[fallthrough]];
    case event::kind::passed:
        wait.record(what.took);
        break;
    case event::kind::released:
    case event::kind::lost:
        hold.record(what.took);
        break;
    case event::kind::renewed:
    case event::kind::renewed_late:
        renewal_slack.record(what.took);
        break;
    case event::kind::waiting:
    case event::kind::in_doubt:
    case event::kind::unknown:
    case event::kind::withdrawn:
    case event::kind::link:
    case event::kind::notice:
        break;
    }
}

std::uint64_t metrics::count(event::kind what) const noexcept {
    return counts_[static_cast<std::size_t>(what)].load(std::memory_order_relaxed);
}

} // namespace holdfast
