#include "report.hpp"
#include "../durations.hpp"
#include "../json.hpp"
#include "../table.hpp"
#include "../terminal.hpp"
#include "../text.hpp"

#include <array>
#include <cstdio>

namespace holdfast::cli::ordeal {

namespace {

std::int64_t ms(tick time) { return time / 1'000'000; }

std::string milliseconds(tick time) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.1f ms", static_cast<double>(time) / 1e6);
    return text.data();
}

std::int64_t fault_count(const verdict& v) {
    std::int64_t sum = 0;
    for (const auto& [kind, figures] : v.faults) {
        sum += figures.count;
    }
    return sum;
}

std::string sentence(const evidence& found, const verdict& v) {
    const auto scale = std::to_string(v.acquisitions) + " acquisitions and " +
                       std::to_string(fault_count(v)) + " faults in " +
                       human(duration{found.run.to - found.run.from});
    const std::string until = found.interrupted ? "until it was interrupted, " : "";
    if (v.sound()) {
        return in(colour::green, "nothing wrong") + ": " + until + scale;
    }
    return in(colour::red, "wrong") + ": " + until + v.violations.front().what + " (" + scale + ")";
}

std::string violations_of(const verdict& v) {
    std::string text;
    for (std::size_t i = 0; i < v.violations.size(); ++i) {
        text +=
            (i == 0 ? "the first violation: " : "also: ") + printable(v.violations[i].what) + "\n";
        if (i > 0) {
            continue; // one history is enough to begin with; --json has them all
        }
        for (const auto& line : v.violations[i].history) {
            text += "  " + printable(line) + "\n";
        }
    }
    return text;
}

std::string lost_text(const counter_report& report) {
    return std::to_string(report.lost) + " of " + std::to_string(report.written);
}

std::string figures_of(const evidence& found, const verdict& v) {
    table rows{{"FIGURE", "VALUE"}};
    const auto add = [&](const char* what, std::string value) {
        rows.add({what, std::move(value)});
    };
    add("engine", printable(found.able.engine) + std::string{"  "} + printable(found.url));
    add("seed", std::to_string(found.seed));
    add("acquisitions",
        std::to_string(v.acquisitions) + " of " + std::to_string(v.attempted) + " attempts; " +
            std::to_string(v.contended) + " gave up, " + std::to_string(v.failed) + " failed");
    if (!found.first_failure.empty()) {
        add("the first failure", printable(found.first_failure));
    }
    add("leases lost", std::to_string(v.lost));
    for (const auto& [kind, figures] : v.faults) {
        add(kind == "pause"  ? "pauses"
            : kind == "kill" ? "kills"
                             : "told to end",
            std::to_string(figures.count) + ", " + milliseconds(figures.time) + " in all");
    }
    add("overlaps",
        std::to_string(v.overlaps) +
            (v.overlaps > 0 ? ", the longest " + milliseconds(v.longest_overlap) : ""));
    add("lost updates, nobody paused",
        lost_text(v.steady) + (v.steady.lost > 0 && v.steady.unexplained == 0
                                   ? "; by a holder that the machine let oversleep its lease"
                                   : ""));
    add("lost updates, fence checked",
        std::to_string(v.vault_lost) + " of " + std::to_string(v.vault_written));
    add("lost updates, paused, no fence check",
        lost_text(v.paused) + (v.paused.lost > 0 && v.paused.unexplained == 0
                                   ? "; no lock can prevent these, a fence check does"
                                   : ""));
    add("stale requests refused by the fence", std::to_string(v.stale_refused));
    add("fence regressions", std::to_string(v.fence_regressions));
    add("free and wanted while healthy",
        milliseconds(v.longest_gap) + " at the longest, " + milliseconds(v.longest_miss) +
            " of one wait");
    add("longest wait while healthy", milliseconds(v.longest_wait));
    add("acquire p50, p99, max",
        milliseconds(v.acquire_p50) + ", " + milliseconds(v.acquire_p99) + ", " +
            milliseconds(v.acquire_max));
    add("left at the end", found.orphans ? std::to_string(*found.orphans) : "not looked at");
    return rows.text();
}

std::string sightings_of(const verdict& v) {
    table rows{{"SEEN", "TIMES"}};
    for (const auto& one : v.sometimes) {
        rows.add({one.what, one.hits == 0 ? "never" : std::to_string(one.hits)});
    }
    auto text = rows.text();
    if (v.weak()) {
        text += in(colour::yellow, "weak run") +
                ": what was never seen was not tested; run longer, or with another --seed\n";
    }
    return text;
}

void write_counter(json& out, std::string_view key, const counter_report& report) {
    out.key(key)
        .begin_object()
        .member("written", report.written)
        .member("lost", report.lost)
        .member("unexplained", report.unexplained)
        .end_object();
}

void write_faults(json& out, const verdict& v) {
    out.key("faults").begin_object();
    for (const auto& [kind, figures] : v.faults) {
        out.key(kind)
            .begin_object()
            .member("count", figures.count)
            .member("ms", ms(figures.time))
            .end_object();
    }
    out.end_object();
}

void write_violations(json& out, const verdict& v) {
    out.key("violations").begin_array();
    for (const auto& one : v.violations) {
        out.begin_object().member("what", std::string_view{one.what}).key("history").begin_array();
        for (const auto& line : one.history) {
            out.value(std::string_view{line});
        }
        out.end_array().end_object();
    }
    out.end_array();
}

void write_operations(json& out, const verdict& v) {
    out.key("ops")
        .begin_object()
        .member("attempted", v.attempted)
        .member("ok", v.acquisitions)
        .member("contended", v.contended)
        .member("failed", v.failed)
        .member("unfinished", v.unfinished)
        .end_object();
    out.member("acquisitions", v.acquisitions)
        .key("releases")
        .begin_object()
        .member("released", v.released)
        .member("lost", v.lost)
        .member("unknown", v.release_unknown)
        .end_object();
}

void write_findings(json& out, const evidence& found, const verdict& v) {
    out.member("belief_overlaps", v.overlaps)
        .member("max_overlap_ms", ms(v.longest_overlap))
        .member("lost_updates", v.vault_lost)
        .member("fenced_writes", v.vault_written)
        .member("stale_refused", v.stale_refused)
        .member("fence_regressions", v.fence_regressions);
    write_counter(out, "counter_undisturbed", v.steady);
    write_counter(out, "counter_paused", v.paused);
    out.key("orphans");
    found.orphans ? out.value(*found.orphans) : out.value(nullptr);
    out.member("max_unavailability_ms", ms(v.longest_gap))
        .member("max_missed_ms", ms(v.longest_miss))
        .member("max_wait_ms", ms(v.longest_wait))
        .member("healthy_ms", ms(v.healthy_time))
        .key("acquire_us")
        .begin_object()
        .member("p50", v.acquire_p50 / 1000)
        .member("p99", v.acquire_p99 / 1000)
        .member("max", v.acquire_max / 1000)
        .end_object();
}

void write_sightings(json& out, const verdict& v) {
    out.key("sometimes").begin_object();
    for (const auto& one : v.sometimes) {
        out.member(one.key, one.hits);
    }
    out.end_object().member("weak", v.weak()).key("skipped").begin_array();
    for (const auto& one : v.skipped) {
        out.value(std::string_view{one});
    }
    out.end_array();
}

} // namespace

std::string as_text(const evidence& found, const verdict& v) {
    auto text = sentence(found, v) + "\n" + violations_of(v) + "\n" + figures_of(found, v) + "\n" +
                sightings_of(v);
    for (const auto& one : v.skipped) {
        text += "skipped: " + one + "\n";
    }
    return text;
}

std::string as_json(const evidence& found, const verdict& v) {
    json out;
    out.begin_object()
        .member("backend", std::string_view{found.able.engine})
        .member("url", std::string_view{found.url})
        .member("version", HOLDFAST_VERSION)
        .member("seed", std::string_view{std::to_string(found.seed)})
        .member("ttl_ms", ms(found.ttl.count()))
        .member("duration_ms", ms(found.run.to - found.run.from))
        .member("workers", static_cast<std::int64_t>(found.workers))
        .member("permits", static_cast<std::int64_t>(found.permits))
        .member("interrupted", found.interrupted)
        .member("verdict", v.sound() ? "nothing wrong" : "wrong");
    write_operations(out, v);
    write_faults(out, v);
    write_findings(out, found, v);
    write_sightings(out, v);
    write_violations(out, v);
    out.end_object();
    return out.text() + "\n";
}

} // namespace holdfast::cli::ordeal
