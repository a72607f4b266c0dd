// `holdfast torture [URL]`: what to run before trusting an engine.
//
//   conductor (this process)                     torture/conductor.cpp
//     ├─ schedule, drawn from the seed           torture/schedule.cpp
//     ├─ vault, a resource that checks fences    torture/vault.cpp
//     └─ workers, each a process of its own      torture/worker.cpp
//          └─ journal, which outlives it ──▶ checks ──▶ verdict ──▶ report

#include "torture.hpp"
#include "complaint.hpp"
#include "durations.hpp"
#include "exit_codes.hpp"
#include "terminal.hpp"
#include "torture/conductor.hpp"
#include "torture/report.hpp"

#include <random>

namespace holdfast::cli {

namespace {

/// Small enough to be typed again.
std::uint64_t drawn_seed() { return std::random_device{}() % 1'000'000U; }

void check(const torture_options& options) {
    const auto least = ordeal::shortest_run(options.ttl);
    if (options.length < least) {
        throw usage_error{
            "--seconds " +
            std::to_string(
                std::chrono::duration_cast<std::chrono::seconds>(options.length).count()) +
            " is too short for a ttl of " + human(options.ttl) + ": at least " +
            std::to_string(std::chrono::ceil<std::chrono::seconds>(least).count())};
    }
}

} // namespace

int torture(const torture_options& options) {
    check(options);
    const auto found = ordeal::conduct({.url = options.url,
                                        .length = options.length,
                                        .ttl = options.ttl,
                                        .workers = options.workers,
                                        .seed = options.seed ? *options.seed : drawn_seed()});
    const auto verdict = ordeal::judge(found);
    print(options.format == format::json ? ordeal::as_json(found, verdict)
                                         : ordeal::as_text(found, verdict));
    if (!verdict.sound()) {
        return 1;
    }
    return found.interrupted ? exit_code::died_of(found.signal) : exit_code::success;
}

} // namespace holdfast::cli
