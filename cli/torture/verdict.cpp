#include "verdict.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace holdfast::cli::ordeal {

namespace {

constexpr std::array place_names{"the counter (nobody paused)",
                                 "the counter (with pauses)",
                                 "the fenced counter",
                                 "the permits",
                                 "the readers and writers"};

std::string seconds(tick time) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.6f s", static_cast<double>(time) / 1e9);
    return text.data();
}

std::string milliseconds(tick time) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.1f ms", static_cast<double>(time) / 1e6);
    return text.data();
}

const char* name_of(sharing_mode mode) {
    return mode == sharing_mode::exclusive ? "alone"
           : mode == sharing_mode::shared  ? "as a reader"
                                           : "a permit";
}

const char* verb_of(fault_kind what) {
    return what == fault_kind::pause  ? "paused"
           : what == fault_kind::kill ? "killed"
                                      : "told to end";
}

class judging {
public:
    explicit judging(const evidence& found) : e_{found} {
        for (const auto& one : found.attempts) {
            by_place_[static_cast<std::size_t>(one.place)].push_back(one);
        }
        std::vector<window> disturbed{found.disturbances.begin(), found.disturbances.end()};
        // Workers need a moment to begin with.
        healthy_ = healthy_windows({found.run.from + found.ttl.count(), found.run.to},
                                   disturbed,
                                   settling_of(found.ttl).count());
    }

    verdict whole() {
        count();
        check_holders();
        check_counters();
        check_fenced();
        check_waiting();
        check_the_end();
        look_for_sightings();
        tell_what_was_skipped();
        return std::move(v_);
    }

private:
    [[nodiscard]] const attempts& at(place where) const {
        return by_place_[static_cast<std::size_t>(where)];
    }

    // ---- history

    [[nodiscard]] std::string when(tick at) const {
        return at == ordeal::never ? "for ever" : seconds(at - e_.run.from);
    }

    [[nodiscard]] std::string story_of(const attempt& one) const {
        auto text = "worker " + std::to_string(one.worker) + " (pid " + std::to_string(one.pid) +
                    ", thread " + std::to_string(one.thread) + ") asked at " + when(one.asked);
        if (one.acquired == 0) {
            return text + " and waited until " + when(one.waited_until());
        }
        return text + ", held it " + name_of(one.mode) + " with fence " +
               std::to_string(one.fence) + " from " + when(one.acquired) + " to " +
               when(one.believed_until()) + " (deadline " + when(one.deadline) + ")";
    }

    /// What was done to the two, shortly before.
    void
    add_faults(std::vector<std::string>& history, const attempt& one, const attempt& other) const {
        const auto from = std::min(one.asked, other.asked) - 3 * e_.ttl.count();
        const auto to = std::max(one.acquired, other.acquired);
        for (const auto& fault : e_.disturbances) {
            const bool concerns = fault.pid == one.pid || fault.pid == other.pid;
            if (concerns && fault.to >= from && fault.from <= to) {
                history.push_back("worker " + std::to_string(fault.worker) + " (pid " +
                                  std::to_string(fault.pid) + ") was " + verb_of(fault.what) +
                                  " at " + when(fault.from) + ", until " + when(fault.to));
            }
        }
    }

    void blame(std::string what, const pair_of_attempts& both) {
        violation found{.what = std::move(what), .history = {}};
        found.history.push_back(story_of(both.first));
        found.history.push_back(story_of(both.second));
        add_faults(found.history, both.first, both.second);
        v_.violations.push_back(std::move(found));
    }

    // ---- figures

    void count() {
        std::vector<tick> times;
        for (const auto& one : e_.attempts) {
            ++v_.attempted;
            v_.acquisitions += one.acquired != 0 ? 1 : 0;
            v_.contended += one.outcome == outcome::contended ? 1 : 0;
            v_.failed += one.outcome == outcome::failed ? 1 : 0;
            v_.unfinished += one.outcome == outcome::waiting || one.outcome == outcome::held;
            v_.released += one.outcome == outcome::released ? 1 : 0;
            v_.lost += one.outcome == outcome::lost ? 1 : 0;
            v_.release_unknown += one.outcome == outcome::unknown ? 1 : 0;
            if (one.acquired != 0) {
                times.push_back(one.acquired - one.asked);
            }
        }
        for (const auto kind : {fault_kind::pause, fault_kind::kill, fault_kind::term}) {
            auto& sum = v_.faults[kind == fault_kind::pause  ? "pause"
                                  : kind == fault_kind::kill ? "kill"
                                                             : "term"];
            for (const auto& one : e_.disturbances) {
                sum.count += one.what == kind ? 1 : 0;
                sum.time += one.what == kind ? one.to - one.from : 0;
            }
        }
        if (!times.empty()) {
            std::sort(times.begin(), times.end());
            v_.acquire_p50 = times[times.size() / 2];
            v_.acquire_p99 = times[times.size() * 99 / 100];
            v_.acquire_max = times.back();
        }
    }

    // ---- checks

    void check_holders() {
        for (std::size_t i = 0; i < by_place_.size(); ++i) {
            const auto report = check_overlaps(by_place_[i], e_.permits);
            v_.overlaps += report.count;
            v_.longest_overlap = std::max(v_.longest_overlap, report.longest);
            if (report.first && static_cast<place>(i) == place::permits) {
                blame("more than " + std::to_string(e_.permits) + " held a permit at once",
                      *report.first);
            } else if (report.first) {
                blame(std::string{"two held "} + place_names[i] + " at once, for " +
                          milliseconds(report.longest) + " at the longest",
                      *report.first);
            }
        }
    }

    void check_counters() {
        v_.steady = check_counter(at(place::steady_counter));
        v_.paused = check_counter(at(place::paused_counter));
        for (const auto* one : {&v_.steady, &v_.paused}) {
            if (one->first) {
                blame(std::to_string(one->unexplained) +
                          " increments of a counter were undone while nobody had outstayed its "
                          "lease",
                      *one->first);
            }
        }
    }

    void check_fenced() {
        if (e_.able.fences == fence_grade::none) {
            return;
        }
        const auto step = e_.able.fence_per_pass ? fence_step::each_hold : fence_step::each_grant;
        for (const auto& all : by_place_) {
            const auto report = check_fences(all, step);
            v_.fence_regressions += report.regressions;
            if (report.first) {
                blame("a later grant had a fence that was not larger", *report.first);
            }
        }
        const auto report = check_vault(e_.vault_log);
        v_.vault_written = report.written;
        v_.vault_lost = report.lost;
        v_.stale_refused = e_.vault_refused;
        if (report.first) {
            const auto& [before, after] = *report.first;
            v_.violations.push_back(
                {.what = "an update was lost although the resource checks fences",
                 .history = {told(before), told(after)}});
        }
    }

    static std::string told(const vault_entry& one) {
        return "worker " + std::to_string(one.worker) + " wrote " + std::to_string(one.value) +
               " with fence " + std::to_string(one.fence);
    }

    void check_waiting() {
        for (const auto& one : healthy_) {
            v_.healthy_time += one.to - one.from;
        }
        for (std::size_t i = 0; i < by_place_.size(); ++i) {
            const auto report = check_liveness(by_place_[i], e_.permits, healthy_);
            v_.longest_gap = std::max(v_.longest_gap, report.longest_gap);
            v_.longest_miss = std::max(v_.longest_miss, report.longest_miss);
            v_.longest_wait = std::max(v_.longest_wait, report.longest_wait);
            if (report.missed && report.longest_miss >= 3 * patience_of(e_.ttl).count() / 4) {
                blame_waiting(i, report);
            }
        }
    }

    /// Who waited, who had it last, and who was next.
    void blame_waiting(std::size_t where, const liveness_report& report) {
        violation found{.what = std::string{"somebody waited for "} + place_names[where] +
                                " while it was free for " + milliseconds(report.longest_miss) +
                                " and all were well",
                        .history = {story_of(*report.missed)}};
        const attempt* before = nullptr;
        const attempt* after = nullptr;
        for (const auto& one : by_place_[where]) {
            if (one.acquired == 0) {
                continue;
            }
            if (one.acquired < report.gap.from &&
                (before == nullptr || one.acquired > before->acquired)) {
                before = &one;
            }
            if (one.acquired >= report.gap.to &&
                (after == nullptr || one.acquired < after->acquired)) {
                after = &one;
            }
        }
        found.history.push_back("it was free from " + when(report.gap.from) + " to " +
                                when(report.gap.to));
        if (before != nullptr) {
            found.history.push_back("before: " + story_of(*before));
            add_faults(found.history, *before, *report.missed);
        }
        if (after != nullptr) {
            found.history.push_back("after: " + story_of(*after));
        }
        v_.violations.push_back(std::move(found));
    }

    void check_the_end() {
        for (const auto& one : e_.mishaps) {
            v_.violations.push_back({.what = "worker " + std::to_string(one.worker) + " (pid " +
                                             std::to_string(one.pid) + ") " + one.how,
                                     .history = {}});
        }
        if (e_.orphans.value_or(0) > 0) {
            v_.violations.push_back({.what = std::to_string(*e_.orphans) +
                                             " holders or waiters were left when all had ended, "
                                             "the first of '" +
                                             e_.first_orphan + "'",
                                     .history = {}});
        }
        if (v_.acquisitions == 0 && !e_.interrupted) {
            v_.violations.push_back({.what = "nobody was ever given a lock", .history = {}});
        }
    }

    // ---- what a run has to have seen

    void saw(std::string key, std::string what, std::int64_t hits) {
        v_.sometimes.push_back({std::move(key), std::move(what), hits});
    }

    template <class Condition> [[nodiscard]] std::int64_t count_of(Condition condition) const {
        return std::count_if(e_.attempts.begin(), e_.attempts.end(), condition);
    }

    /// Grants of exclusive locks that followed one of another process.
    [[nodiscard]] std::int64_t hand_overs() const {
        std::int64_t count = 0;
        for (const auto where : {place::steady_counter, place::paused_counter, place::vault}) {
            auto holds = at(where);
            std::sort(holds.begin(), holds.end(), [](const attempt& left, const attempt& right) {
                return left.acquired < right.acquired;
            });
            for (std::size_t i = 1; i < holds.size(); ++i) {
                count += holds[i - 1].acquired != 0 && holds[i].pid != holds[i - 1].pid ? 1 : 0;
            }
        }
        return count;
    }

    /// Dead holders of exclusive locks after whom somebody else got it.
    [[nodiscard]] std::int64_t takeovers() const {
        std::int64_t count = 0;
        for (const auto where : {place::steady_counter, place::paused_counter, place::vault}) {
            const auto& all = at(where);
            tick last = 0;
            for (const auto& one : all) {
                last = std::max(last, one.acquired);
            }
            count += std::count_if(all.begin(), all.end(), [&](const attempt& one) {
                return one.outcome == outcome::held && one.died != ordeal::never && one.died < last;
            });
        }
        return count;
    }

    void look_for_sightings() {
        saw("hand_over", "a lock went from one process to another", hand_overs());
        saw("lost_alive", "a holder outlived its lease and was told so", v_.lost);
        saw("takeover", "a holder was killed, and somebody took over", takeovers());
        saw("waiter_killed", "a waiter was killed in the queue", count_of([](const attempt& one) {
                return one.outcome == outcome::waiting && one.died != ordeal::never;
            }));
        saw("gave_up", "a waiter gave up", v_.contended);
        saw("renewed", "a lease was prolonged while it was held", count_of([&](const attempt& one) {
                return one.acquired != 0 && one.deadline > one.acquired + e_.ttl.count();
            }));
        saw("unfenced_loss",
            "a paused holder destroyed work that no fence protected",
            v_.paused.lost);
        if (e_.able.fences != fence_grade::none) {
            saw("stale_refused", "a fence kept such a holder out", v_.stale_refused);
        }
        saw("healthy",
            "quiet times long enough to see that locks go on (ms)",
            v_.healthy_time / 1'000'000);
    }

    void tell_what_was_skipped() {
        const std::string engine{e_.able.engine};
        if (e_.able.fences == fence_grade::none) {
            v_.skipped.push_back("the fenced counter: " + engine + " has no fences");
        }
        if (!e_.able.permits) {
            v_.skipped.push_back("permits: " + engine + " has none");
        }
        if (!e_.able.shared) {
            v_.skipped.push_back("readers and writers: " + engine + " has no shared locks");
        }
    }

    const evidence& e_;
    std::array<attempts, places> by_place_;
    std::vector<window> healthy_;
    verdict v_;
};

} // namespace

bool verdict::weak() const noexcept {
    return std::any_of(
        sometimes.begin(), sometimes.end(), [](const sighting& one) { return one.hits == 0; });
}

verdict judge(const evidence& found) { return judging{found}.whole(); }

} // namespace holdfast::cli::ordeal
