#include "quorum/views.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace holdfast::quorum {
namespace {

/// One holder, as all members together see it.
struct sighting {
    holder_info info;
    std::vector<duration> remaining; // one for each member that sees it and knows an end
    std::vector<fence> fences;
    std::size_t members = 0;
};

[[nodiscard]] bool same(const holder_info& a, const holder_info& b) {
    return a.who == b.who && a.mode == b.mode;
}

void add(std::vector<sighting>& all, const holder_info& seen) {
    const auto known =
        std::find_if(all.begin(), all.end(), [&](const sighting& s) { return same(s.info, seen); });
    auto& s = known != all.end() ? *known : all.emplace_back(sighting{seen, {}, {}, 0});
    ++s.members;
    s.fences.push_back(seen.fence);
    s.info.held_for = std::max(s.info.held_for, seen.held_for);
    if (seen.remaining)
        s.remaining.push_back(*seen.remaining);
}

[[nodiscard]] holder_info told(sighting s, std::size_t needed, std::size_t asked) {
    std::sort(s.remaining.begin(), s.remaining.end(), std::greater{});
    if (s.remaining.size() >= needed)
        s.info.remaining = s.remaining[needed - 1];
    // The quorum's own: a member that was late may have a larger one, but never q of them.
    std::sort(s.fences.begin(), s.fences.end(), std::greater{});
    s.info.fence = s.fences[std::min(needed, s.fences.size()) - 1];
    if (s.members < needed)
        s.info.remark =
            "known to " + std::to_string(s.members) + " of " + std::to_string(asked) + " members";
    return std::move(s.info);
}

[[nodiscard]] bool in_danger(const std::vector<finding>& all) {
    return std::any_of(
        all.begin(), all.end(), [](const finding& f) { return f.how == finding::grade::danger; });
}

[[nodiscard]] finding health(std::size_t well, std::size_t members, std::size_t needed) {
    const auto sentence = std::to_string(well) + " of " + std::to_string(members) +
                          " members are well, " + std::to_string(needed) + " are needed.";
    if (well < needed)
        return {finding::grade::danger, sentence, "Bring back those that are not; see below."};
    if (well < members)
        return {finding::grade::warning, sentence, "Bring back those that are not; see below."};
    return {finding::grade::good, sentence, {}};
}

[[nodiscard]] finding grade(const capabilities& able, std::size_t members, std::size_t needed) {
    const auto shared = std::to_string(2 * needed - members);
    if (able.may_forget > 0)
        return {finding::grade::good,
                "Strong: two quorums share at least " + shared + " members, so that " +
                    std::to_string(able.may_forget) + " of them may forget and nobody is harmed.",
                {}};
    return {finding::grade::notice,
            "Majority: two quorums may share a single member; if that one forgets what it granted, "
            "two may hold the lock.",
            "Write quorum:strong,… or let a member that lost its data stay away for the longest "
            "ttl."};
}

} // namespace

std::vector<lock_info>
seen_together(const std::vector<std::optional<std::vector<lock_info>>>& by_member,
              std::size_t needed) {
    struct name_view {
        std::vector<sighting> holders;
        std::vector<waiter_info> waiters;
    };
    std::map<std::string, name_view> names;
    for (const auto& seen : by_member)
        if (seen)
            for (const auto& l : *seen) {
                auto& view = names[l.name];
                for (const auto& h : l.holders)
                    add(view.holders, h);
                for (const auto& w : l.waiters)
                    if (std::none_of(view.waiters.begin(), view.waiters.end(), [&](const auto& o) {
                            return o.who == w.who && o.mode == w.mode;
                        }))
                        view.waiters.push_back(w);
            }
    std::vector<lock_info> all;
    for (auto& [name, view] : names) {
        lock_info info{name, {}, std::move(view.waiters)};
        for (auto& s : view.holders)
            info.holders.push_back(told(std::move(s), needed, by_member.size()));
        all.push_back(std::move(info));
    }
    return all;
}

std::vector<finding>
found_together(const std::vector<std::optional<std::vector<finding>>>& by_member,
               const capabilities& able,
               std::size_t needed) {
    const auto well = static_cast<std::size_t>(std::count_if(
        by_member.begin(), by_member.end(), [](const auto& f) { return f && !in_danger(*f); }));
    std::vector<finding> all{health(well, by_member.size(), needed),
                             grade(able, by_member.size(), needed)};
    for (std::size_t m = 0; m < by_member.size(); ++m) {
        const auto member = "Member " + std::to_string(m + 1) + ": ";
        if (!by_member[m]) {
            all.push_back({finding::grade::warning, member + "it did not answer.", {}});
            continue;
        }
        for (auto f : *by_member[m]) {
            f.what = member + f.what;
            // The quorum outlives what would be the end of a single engine.
            if (well >= needed)
                f.how = std::min(f.how, finding::grade::warning);
            all.push_back(std::move(f));
        }
    }
    std::stable_sort(
        all.begin(), all.end(), [](const finding& a, const finding& b) { return a.how > b.how; });
    return all;
}

} // namespace holdfast::quorum
