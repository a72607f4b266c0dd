// `holdfast doctor [URL]`: what this engine guarantees, what that rests on, and how it is today.
//
//   open ──▶ take and release a lock ──▶ capabilities as sentences ──▶ findings, worst first
//             │
//             └─ cannot: 69 or 77

#include "doctor.hpp"
#include "diagnosis.hpp"
#include "exit_codes.hpp"
#include "terminal.hpp"

#include <holdfast/mutex.hpp>

#include <chrono>
#include <string_view>

namespace holdfast::cli {

namespace {

using namespace std::chrono_literals;

/// Always the same name: an engine remembers the fences of names for a while.
constexpr std::string_view probe_name = "holdfast/doctor";

probe take_and_release(const client& engine) {
    mutex lock{engine, std::string{probe_name}};
    const auto asked = boot_clock::now();
    // Who is told at once that nobody is there does not have to wait.
    auto held = lock.try_acquire_for(3s, {.ttl = 10s, .retry = retry::times(3, 100ms)});
    const auto granted = boot_clock::now();
    if (!held) {
        return {.contended = true, .acquiring = {}, .releasing = {}};
    }
    held->release();
    return {
        .contended = false, .acquiring = granted - asked, .releasing = boot_clock::now() - granted};
}

diagnosis examine(const std::string& url) {
    client_options ours;
    ours.purpose = "holdfast doctor";
    const auto engine = open(url, ours);
    const auto how = take_and_release(engine); // first: it says best whether the engine is there
    return completed({.url = url.empty() ? default_url() : url,
                      .able = engine.capabilities(),
                      .probe = how,
                      .findings = engine.examine()});
}

} // namespace

int doctor(const doctor_options& options) {
    const auto all = examine(options.url);
    print(options.format == format::json ? as_json(all) : as_text(all));
    return overall(all) < finding::grade::warning ? exit_code::success : 1;
}

} // namespace holdfast::cli
