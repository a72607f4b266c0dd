#pragma once

// What a run has shown: the figures, what was wrong, and whether it saw enough to say so.

#include "evidence.hpp"

#include <map>
#include <string>
#include <vector>

namespace holdfast::cli::ordeal {

/// Something that must never happen, and how it came about.
struct violation {
    std::string what; ///< one sentence
    std::vector<std::string> history;
};

/// Something that a good run has seen; 0 of it is no fault of the engine, but a weak run.
struct sighting {
    std::string key;
    std::string what;
    std::int64_t hits = 0;
};

struct fault_figures {
    std::int64_t count = 0;
    tick time = 0;
};

struct verdict {
    std::int64_t attempted = 0;
    std::int64_t acquisitions = 0;
    std::int64_t contended = 0;
    std::int64_t failed = 0;
    std::int64_t unfinished = 0;
    std::int64_t released = 0;
    std::int64_t lost = 0;
    std::int64_t release_unknown = 0;
    std::map<std::string, fault_figures> faults;

    std::int64_t overlaps = 0;
    tick longest_overlap = 0;
    std::int64_t fence_regressions = 0;
    std::int64_t vault_written = 0;
    std::int64_t vault_lost = 0;
    std::int64_t stale_refused = 0;
    counter_report steady;
    counter_report paused;
    tick longest_gap = 0;
    tick longest_miss = 0;
    tick longest_wait = 0;
    tick healthy_time = 0;
    tick acquire_p50 = 0;
    tick acquire_p99 = 0;
    tick acquire_max = 0;

    std::vector<violation> violations;
    std::vector<sighting> sometimes;
    std::vector<std::string> skipped; ///< what this engine does not offer

    [[nodiscard]] bool sound() const noexcept { return violations.empty(); }
    [[nodiscard]] bool weak() const noexcept;
};

[[nodiscard]] verdict judge(const evidence&);

} // namespace holdfast::cli::ordeal
