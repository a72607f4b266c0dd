#pragma once

// The arithmetic of belief: the only place that adds a ttl to a time point.
//
//   anchor                     renew                    stop      deadline      anchor + ttl
//     │─ (ttl − margin)/3 ──────▶│                         │◀ margin ▶│◀ drift, margin ▶│
//
// Believe less than the engine does, never more: the anchor is taken before the request was sent,
// the two clocks may differ in speed by `drift_per_mille`, and the engine may end it `margin`
// early.

#include "lease/defect.hpp"

#include <holdfast/backend.hpp>

#include <algorithm>

namespace holdfast::detail {

/// How much two clocks may differ in speed: quartz is below 0.2, a clock being slewed 0.5.
inline constexpr int drift_per_mille = 1;

[[nodiscard]] constexpr instant later(instant from, duration by) noexcept {
    return by >= never - from ? never : from + by;
}

[[nodiscard]] inline instant deadline_of(const bond_terms& terms) noexcept {
    if (has(defect::no_drift_no_margin))
        return later(terms.anchor, terms.ttl);
    return later(terms.anchor, terms.ttl - terms.ttl / 1000 * drift_per_mille - terms.margin);
}

/// How long these terms are good for, but for the drift.
[[nodiscard]] constexpr duration span_of(const bond_terms& terms) noexcept {
    return terms.ttl - terms.margin;
}

/// When a bond is renewed for the first time after it was confirmed.
[[nodiscard]] constexpr instant renewal_due(const bond_terms& terms) noexcept {
    return later(terms.anchor, span_of(terms) / 3);
}

/// How long to wait after a renewal that was not answered: at least three more fit before the end.
[[nodiscard]] constexpr duration renewal_retry(duration ttl) noexcept {
    return std::min<duration>(ttl / 10, std::chrono::seconds{1});
}

/// How long one request may take. At least three fit into what remains after the first third.
[[nodiscard]] constexpr duration request_limit(duration ttl) noexcept {
    return std::clamp<duration>(ttl / 6, std::chrono::milliseconds{10}, std::chrono::seconds{5});
}

/// When to ask again for what somebody else holds: when the engine says so, at least twice in a
/// ttl.
[[nodiscard]] constexpr duration polling_gap(duration retry_after, duration ttl) noexcept {
    return std::max<duration>(std::min(retry_after, ttl / 2), std::chrono::milliseconds{1});
}

/// How long before the deadline the work is asked to stop. What is renewed is renewed after a third
/// of its span: a margin of more than half of it would stop the work all the time.
[[nodiscard]] constexpr duration
stop_margin_of(duration asked, duration ttl, duration span, bool is_renewed) noexcept {
    const auto shorter = std::min(ttl, span);
    if (asked == duration::zero())
        return shorter / 6;
    return is_renewed ? std::min(asked, shorter / 2) : asked;
}

/// After this the engine itself has ended whatever a request sent at `sent` may have been granted.
[[nodiscard]] constexpr instant
gone_by_itself(instant sent, duration ttl, duration lock_delay) noexcept {
    const auto whole = ttl + lock_delay;
    return later(sent, whole + whole / 1000 * drift_per_mille);
}

} // namespace holdfast::detail
