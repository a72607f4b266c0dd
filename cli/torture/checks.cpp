#include "checks.hpp"

#include <set>

namespace holdfast::cli::ordeal {

namespace {

template <class Key> attempts sorted(std::span<const attempt> all, Key key) {
    attempts copy{all.begin(), all.end()};
    std::stable_sort(copy.begin(), copy.end(), [&](const attempt& left, const attempt& right) {
        return key(left) < key(right);
    });
    return copy;
}

attempts holds_of(std::span<const attempt> all) {
    auto holds = sorted(all, [](const attempt& one) { return one.acquired; });
    std::erase_if(holds, [](const attempt& one) { return !one.held(); });
    return holds;
}

bool excludes(const attempt& one, const attempt& other) {
    return one.mode == sharing_mode::exclusive || other.mode == sharing_mode::exclusive;
}

/// One of those who still believe, and in whose way the new one is; nullptr if in nobody's.
const attempt* in_the_way(const attempts& believing, const attempt& newcomer, std::size_t permits) {
    if (newcomer.mode == sharing_mode::permit) {
        return believing.size() >= permits ? &believing.front() : nullptr;
    }
    for (const auto& one : believing) {
        if (excludes(one, newcomer)) {
            return &one;
        }
    }
    return nullptr;
}

} // namespace

overlap_report check_overlaps(std::span<const attempt> all, std::size_t permits) {
    overlap_report report;
    attempts believing; // few: at most one for each thread
    for (const auto& newcomer : holds_of(all)) {
        std::erase_if(believing, [&](const attempt& one) {
            return one.believed_until() <= newcomer.acquired;
        });
        if (const auto* other = in_the_way(believing, newcomer, permits)) {
            ++report.count;
            const auto together = std::min(other->believed_until(), newcomer.believed_until());
            report.longest = std::max(report.longest, together - newcomer.acquired);
            if (!report.first) {
                report.first = {*other, newcomer};
            }
        }
        believing.push_back(newcomer);
    }
    return report;
}

// ---------------------------------------------------------------------------------------- fences

namespace {

void blame(fence_report& report, const attempt& earlier, const attempt& later) {
    ++report.regressions;
    if (!report.first) {
        report.first = {earlier, later};
    }
}

attempts fenced_of(std::span<const attempt> all) {
    auto fenced = sorted(all, [](const attempt& one) { return one.acquired; });
    std::erase_if(fenced, [](const attempt& one) {
        return one.acquired == 0 || one.mode != sharing_mode::exclusive;
    });
    return fenced;
}

/// Equal numbers are sound inside one grant, which one process has handed on.
bool may_be_equal(const attempt& one, const attempt& other, fence_step step) {
    return step == fence_step::each_grant && one.pid == other.pid;
}

void check_order(fence_report& report, const attempts& granted, fence_step step) {
    const auto asking = sorted(granted, [](const attempt& one) { return one.asked; });
    const attempt* highest = nullptr;
    std::size_t next = 0;
    for (const auto& later : asking) {
        for (; next < granted.size() && granted[next].acquired < later.asked; ++next) {
            if (highest == nullptr || granted[next].fence > highest->fence) {
                highest = &granted[next];
            }
        }
        if (highest != nullptr && highest->fence > later.fence) {
            blame(report, *highest, later);
        } else if (highest != nullptr && highest->fence == later.fence &&
                   !may_be_equal(*highest, later, step)) {
            blame(report, *highest, later);
        }
    }
}

/// Those of whom neither asked after the other had been granted: there only equality is wrong.
void check_distinct(fence_report& report, const attempts& granted, fence_step step) {
    const auto by_fence = sorted(granted, [](const attempt& one) { return one.fence; });
    for (std::size_t i = 1; i < by_fence.size(); ++i) {
        const auto& one = by_fence[i - 1];
        const auto& other = by_fence[i];
        const bool ordered = one.acquired < other.asked || other.acquired < one.asked;
        if (one.fence == other.fence && !ordered && !may_be_equal(one, other, step)) {
            blame(report, one, other);
        }
    }
}

} // namespace

fence_report check_fences(std::span<const attempt> all, fence_step step) {
    fence_report report;
    const auto granted = fenced_of(all);
    check_order(report, granted, step);
    check_distinct(report, granted, step);
    return report;
}

// --------------------------------------------------------------------------------------- counters

namespace {

bool outstayed(const attempt& one) { return one.wrote > one.deadline; }

} // namespace

counter_report check_counter(std::span<const attempt> all) {
    counter_report report;
    auto writes = sorted(all, [](const attempt& one) { return one.wrote; });
    std::set<std::int64_t> perhaps; // what those may have written who were killed while they wrote
    for (const auto& one : writes) {
        if (one.effect == effect::writing) {
            perhaps.insert(one.read + 1);
        }
    }
    std::erase_if(writes, [](const attempt& one) { return one.effect != effect::written; });

    std::set<std::int64_t> numbers;
    const attempt* before = nullptr;
    for (const auto& one : writes) {
        ++report.written;
        report.lost += numbers.insert(one.read + 1).second ? 0 : 1; // somebody else made it this
        const auto expected = before == nullptr ? 0 : before->read + 1;
        const bool builds_on_last = one.read == expected || perhaps.contains(one.read);
        const bool explained = outstayed(one) || (before != nullptr && outstayed(*before));
        if (!builds_on_last && !explained) {
            ++report.unexplained;
            if (!report.first) {
                report.first = {before == nullptr ? one : *before, one};
            }
        }
        before = &one;
    }
    return report;
}

vault_report check_vault(std::span<const vault_entry> log) {
    vault_report report;
    vault_entry before;
    for (const auto& entry : log) {
        ++report.written;
        if (entry.value != before.value + 1) {
            ++report.lost;
            if (!report.first) {
                report.first = {before, entry};
            }
        }
        before = entry;
    }
    return report;
}

// --------------------------------------------------------------------------------------- liveness

namespace {

/// How waiters and holders come and go. Holders count as long as they believe.
struct change {
    tick when = 0;
    int waiting = 0;
    int holding = 0;
};

std::vector<change> changes_of(std::span<const attempt> all) {
    std::vector<change> changes;
    for (const auto& one : all) {
        if (one.waited_until() > one.asked) {
            changes.push_back({.when = one.asked, .waiting = 1});
            changes.push_back({.when = one.waited_until(), .waiting = -1});
        }
        if (one.held()) {
            changes.push_back({.when = one.acquired, .holding = 1});
            changes.push_back({.when = one.believed_until(), .holding = -1});
        }
    }
    std::stable_sort(changes.begin(), changes.end(), [](const change& left, const change& right) {
        return left.when < right.when;
    });
    return changes;
}

/// When somebody waited although it was free.
std::vector<window> gaps_of(std::span<const attempt> all, std::size_t permits) {
    const bool counts = !all.empty() && all.front().mode == sharing_mode::permit;
    const int room = counts ? static_cast<int>(permits) : 1;
    std::vector<window> gaps;
    int waiting = 0;
    int holding = 0;
    bool open = false;
    for (const auto& one : changes_of(all)) {
        waiting += one.waiting;
        holding += one.holding;
        const bool gap = waiting > 0 && holding < room;
        if (gap && !open) {
            gaps.push_back({one.when, never});
        } else if (!gap && open) {
            gaps.back().to = one.when;
        }
        open = gap;
    }
    return gaps;
}

/// Calls f(from, to) for each part of the window that lies in one of `windows`.
template <class F> void for_each_part(window whole, std::span<const window> windows, F&& f) {
    auto at = std::partition_point(
        windows.begin(), windows.end(), [&](const window& one) { return one.to <= whole.from; });
    for (; at != windows.end() && at->from < whole.to; ++at) {
        f(std::max(whole.from, at->from), std::min(whole.to, at->to));
    }
}

std::vector<window> intersection(std::span<const window> some, std::span<const window> others) {
    std::vector<window> both;
    for (const auto& one : some) {
        for_each_part(one, others, [&](tick from, tick to) { both.push_back({from, to}); });
    }
    return both;
}

/// How much of anything up to an instant lies in windows that are in order: sums, made once.
class measure {
public:
    explicit measure(std::vector<window> windows) : windows_{std::move(windows)} {
        for (const auto& one : windows_) {
            sums_.push_back(sums_.back() + one.to - one.from);
        }
    }
    [[nodiscard]] tick inside(tick from, tick to) const { return until(to) - until(from); }

private:
    [[nodiscard]] tick until(tick when) const {
        const auto at = std::partition_point(
            windows_.begin(), windows_.end(), [&](const window& one) { return one.to <= when; });
        const auto index = static_cast<std::size_t>(at - windows_.begin());
        return sums_[index] + (at != windows_.end() ? std::max<tick>(when - at->from, 0) : 0);
    }

    std::vector<window> windows_;
    std::vector<tick> sums_{0};
};

} // namespace

liveness_report
check_liveness(std::span<const attempt> all, std::size_t permits, std::span<const window> healthy) {
    liveness_report report;
    const auto gaps = intersection(gaps_of(all, permits), healthy);
    for (const auto& one : gaps) {
        if (one.to - one.from > report.longest_gap) {
            report.longest_gap = one.to - one.from;
            report.gap = one;
        }
    }
    const measure free{gaps};
    for (const auto& one : all) {
        for_each_part({one.asked, one.waited_until()}, healthy, [&](tick from, tick to) {
            report.longest_wait = std::max(report.longest_wait, to - from);
            if (free.inside(from, to) > report.longest_miss) {
                report.longest_miss = free.inside(from, to);
                report.missed = one;
            }
        });
    }
    return report;
}

std::vector<window> healthy_windows(window whole, std::vector<window> disturbances, tick settling) {
    std::sort(disturbances.begin(),
              disturbances.end(),
              [](const window& left, const window& right) { return left.from < right.from; });
    std::vector<window> healthy;
    tick from = whole.from;
    for (const auto& one : disturbances) {
        if (std::min(one.from, whole.to) > from) {
            healthy.push_back({from, std::min(one.from, whole.to)});
        }
        from = std::max(from, one.to >= never - settling ? never : one.to + settling);
    }
    if (whole.to > from) {
        healthy.push_back({from, whole.to});
    }
    return healthy;
}

} // namespace holdfast::cli::ordeal
