#include "happenings.hpp"

#include <algorithm>
#include <array>
#include <chrono>

namespace holdfast::cli {

namespace {

using namespace std::chrono_literals;
using kind = happening::kind;

/// Engines round times, and some keep them in milliseconds.
constexpr duration rounding = 20ms;

happening of_holder(kind what, const std::string& name, const holder_info& holder) {
    return {.what = what,
            .name = name,
            .who = holder.who,
            .mode = holder.mode,
            .fence = holder.fence,
            .time = holder.held_for,
            .remark = {}};
}

happening of_waiter(kind what, const std::string& name, const waiter_info& waiter) {
    return {.what = what,
            .name = name,
            .who = waiter.who,
            .mode = waiter.mode,
            .fence = {},
            .time = waiter.waited_for,
            .remark = {}};
}

/// The time between two looks, of which each has happened at some moment of its own span.
struct span {
    duration least;
    duration most;
};

span between(const look& before, const look& after) {
    return {.least = std::max(after.asked - before.answered, duration::zero()),
            .most = after.answered - before.asked};
}

/// Whether it can be the same hold, or the same wait: it must have grown older by as much as has
/// passed. Where an engine does not know the age, it says zero.
bool has_aged(duration before, duration after, const span& passed) {
    const bool unknown = before == duration::zero() && after == duration::zero();
    return unknown || after + rounding >= before + passed.least;
}

bool is_same(const holder_info& before, const holder_info& after, const span& passed) {
    return before.who == after.who && before.mode == after.mode && before.fence == after.fence &&
           has_aged(before.held_for, after.held_for, passed);
}

bool is_same(const waiter_info& before, const waiter_info& after, const span& passed) {
    return before.who == after.who && before.mode == after.mode &&
           has_aged(before.waited_for, after.waited_for, passed);
}

/// Those who went, those who came, and those who stayed, each of them once.
template <class Party> struct compared {
    std::vector<Party> went;
    std::vector<Party> came;
    std::vector<std::pair<Party, Party>> stayed; // as before, as after
};

template <class Party>
compared<Party>
compare(const std::vector<Party>& before, std::vector<Party> after, const span& passed) {
    compared<Party> all;
    for (const auto& one : before) {
        const auto same = std::find_if(after.begin(), after.end(), [&](const Party& other) {
            return is_same(one, other, passed);
        });
        if (same == after.end()) {
            all.went.push_back(one);
        } else {
            all.stayed.emplace_back(one, *same);
            after.erase(same);
        }
    }
    all.came = std::move(after);
    return all;
}

bool was_lost(const holder_info& holder, const span& passed) {
    return holder.remaining && *holder.remaining < passed.least;
}

void add_changes(const lock_info& before,
                 const lock_info& after,
                 const span& passed,
                 std::vector<happening>& all) {
    const auto& name = after.name.empty() ? before.name : after.name;
    const auto holders = compare(before.holders, after.holders, passed);
    const auto waiters = compare(before.waiters, after.waiters, passed);
    for (const auto& one : holders.went) {
        all.push_back(of_holder(was_lost(one, passed) ? kind::lost : kind::released, name, one));
    }
    for (const auto& one : holders.came) {
        all.push_back(of_holder(kind::granted, name, one));
    }
    for (const auto& [then, now] : holders.stayed) {
        if (now.remark != then.remark && !now.remark.empty()) {
            all.push_back(of_holder(kind::remark, name, now));
            all.back().remark = now.remark;
        }
    }
    auto served = holders.came;
    for (const auto& one : waiters.went) {
        const auto granted = std::find_if(served.begin(), served.end(), [&](const auto& holder) {
            return holder.who == one.who;
        });
        if (granted == served.end()) {
            all.push_back(of_waiter(kind::left, name, one));
        } else {
            served.erase(granted);
        }
    }
    for (const auto& one : waiters.came) {
        all.push_back(of_waiter(kind::waits, name, one));
    }
}

} // namespace

std::vector<happening> happenings_between(const look& before, const look& after) {
    const auto passed = between(before, after);
    const lock_info nobody;
    std::vector<happening> all;
    auto old = before.locks.begin();
    auto now = after.locks.begin();
    while (old != before.locks.end() || now != after.locks.end()) { // both are sorted by name
        const bool old_first =
            now == after.locks.end() || (old != before.locks.end() && old->name <= now->name);
        const bool now_first =
            old == before.locks.end() || (now != after.locks.end() && now->name <= old->name);
        add_changes(old_first ? *old : nobody, now_first ? *now : nobody, passed, all);
        old += old_first ? 1 : 0;
        now += now_first ? 1 : 0;
    }
    return all;
}

std::vector<happening> state_of(const look& first) {
    std::vector<happening> all;
    for (const auto& lock : first.locks) {
        for (const auto& holder : lock.holders) {
            all.push_back(of_holder(kind::held, lock.name, holder));
        }
        for (const auto& waiter : lock.waiters) {
            all.push_back(of_waiter(kind::waits, lock.name, waiter));
        }
    }
    return all;
}

std::string_view name_of(happening::kind what) noexcept {
    constexpr std::array<std::string_view, 7> names{
        "held", "granted", "released", "lost", "waits", "left", "remark"};
    return names.at(static_cast<std::size_t>(what));
}

} // namespace holdfast::cli
