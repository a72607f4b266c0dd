#include "diagnosis.hpp"
#include "durations.hpp"
#include "json.hpp"
#include "terminal.hpp"
#include "text.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace holdfast::cli {

namespace {

// ------------------------------------------------------------------------- the words for it all

std::string_view words_for(reach how_far) noexcept {
    switch (how_far) {
    case reach::process:
        return "this process only";
    case reach::machine:
        return "all processes of this machine";
    case reach::network:
        return "all machines that reach the engine";
    }
    return "";
}

std::string_view words_for(fence_grade grade) noexcept {
    switch (grade) {
    case fence_grade::none:
        return "none: a paused holder cannot be told from a living one";
    case fence_grade::transient:
        return "grow as long as the process that keeps them lives";
    case fence_grade::hybrid:
        return "grow for ever: a durable counter, with a clock as its floor";
    case fence_grade::consensus:
        return "grow for ever: kept by a majority";
    }
    return "";
}

std::string_view words_for(wake_by how) noexcept {
    switch (how) {
    case wake_by::polling:
        return "ask again from time to time";
    case wake_by::hint:
        return "are told when to ask again";
    case wake_by::grant:
        return "sleep until they are handed the lock";
    }
    return "";
}

std::string_view words_for(assumption what) noexcept {
    switch (what) {
    case assumption::clock_rates_agree:
        return "clocks run at the same speed, within 0.1 %";
    case assumption::engine_remembers:
        return "the engine does not forget a grant before its ttl is over";
    case assumption::engine_clock_never_jumps:
        return "the engine's clock does not jump forward";
    }
    return "";
}

std::string_view name_of_assumption(assumption what) noexcept {
    switch (what) {
    case assumption::clock_rates_agree:
        return "clock_rates_agree";
    case assumption::engine_remembers:
        return "engine_remembers";
    case assumption::engine_clock_never_jumps:
        return "engine_clock_never_jumps";
    }
    return "";
}

std::string_view name_of_grade(finding::grade grade) noexcept {
    switch (grade) {
    case finding::grade::good:
        return "good";
    case finding::grade::notice:
        return "notice";
    case finding::grade::warning:
        return "warning";
    case finding::grade::danger:
        return "danger";
    }
    return "";
}

colour colour_of(finding::grade grade) noexcept {
    switch (grade) {
    case finding::grade::good:
        return colour::green;
    case finding::grade::notice:
        return colour::plain;
    case finding::grade::warning:
        return colour::yellow;
    case finding::grade::danger:
        return colour::red;
    }
    return colour::plain;
}

std::vector<assumption> assumptions_of(const capabilities& able) {
    std::vector<assumption> all;
    for (const auto one : {assumption::clock_rates_agree,
                           assumption::engine_remembers,
                           assumption::engine_clock_never_jumps}) {
        if (able.assumes(one)) {
            all.push_back(one);
        }
    }
    return all;
}

std::string kinds_of(const capabilities& able) {
    std::string kinds = "exclusive";
    kinds += able.shared ? ", shared" : "";
    kinds += able.permits ? ", permits" : "";
    kinds += able.fair ? ", first come first served" : "";
    kinds += able.lock_delay ? ", lock delay" : "";
    return kinds;
}

// ------------------------------------------------------------------------------ our own findings

/// From here on people who wait for a free lock notice it.
constexpr auto slow = std::chrono::milliseconds{100};

void add_probe(const probe& how, std::vector<finding>& all) {
    if (how.contended) {
        all.push_back({finding::grade::notice,
                       "the probe was contended: another doctor is at work",
                       "ask again in a moment"});
    } else if (how.acquiring + how.releasing > slow) {
        all.push_back(
            {finding::grade::warning,
             "a free lock took " + human(how.acquiring + how.releasing) + " to acquire and release",
             "look at the load of the engine and at the way there"});
    }
}

void add_guarantees(const capabilities& able, std::vector<finding>& all) {
    if (able.fences == fence_grade::none) {
        all.push_back({finding::grade::notice,
                       "there are no fences: a holder that was paused beyond its lease can do harm",
                       "where that matters, use an engine that has them"});
    }
    if (able.fences == fence_grade::transient && able.reach != reach::process) {
        all.push_back({finding::grade::notice,
                       "fences begin anew when the engine forgets them",
                       "where that matters, use an engine whose fences are durable"});
    }
}

// ------------------------------------------------------------------------------------------ text

std::string microseconds(duration time) {
    return std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(time).count()) +
           " µs";
}

std::string probe_text(const probe& how) {
    if (how.contended) {
        return "contended: somebody else is probing";
    }
    return "acquired in " + microseconds(how.acquiring) + ", released in " +
           microseconds(how.releasing);
}

std::string line(std::string_view label, std::string_view content) {
    constexpr std::size_t label_width = 16;
    std::string text = "  " + std::string{label};
    text.append(label_width - label.size(), ' ');
    return text + std::string{content} + "\n";
}

std::string guarantees_text(const diagnosis& all) {
    const auto& able = all.able;
    std::string text = in(colour::bold, "guarantees") + "\n";
    text += line("holds among", words_for(able.reach));
    text += line("kinds", kinds_of(able));
    text += line("fences", words_for(able.fences));
    text +=
        line("a dead holder",
             able.notices_death         ? "is noticed at once"
             : able.keeps_while_stopped ? "is noticed after its ttl; one that stands still is not"
                                        : "is noticed after its ttl");
    text += line("waiters", words_for(able.wake));
    const auto assumed = assumptions_of(able);
    for (const auto one : assumed) {
        text += line(one == assumed.front() ? "rests on" : "", words_for(one));
    }
    if (assumed.empty()) {
        text += line("rests on", "nothing but the kernel");
    }
    return text;
}

std::string findings_text(const std::vector<finding>& findings) {
    std::string text = findings.empty() ? "" : in(colour::bold, "findings") + "\n";
    for (const auto& found : findings) {
        const std::string grade{name_of_grade(found.how)};
        text += "  " + in(colour_of(found.how), grade) + std::string(16 - grade.size(), ' ') +
                printable(found.what) + "\n";
        if (!found.fix.empty()) {
            text += line("", "fix: " + printable(found.fix));
        }
    }
    return text;
}

// ------------------------------------------------------------------------------------------ json

void write_probe(json& out, const probe& how) {
    const auto in_us = [](duration time) {
        return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
    };
    out.key("probe").begin_object().member("contended", how.contended);
    if (!how.contended) {
        out.member("acquire_us", in_us(how.acquiring)).member("release_us", in_us(how.releasing));
    }
    out.end_object();
}

void write_guarantees(json& out, const capabilities& able) {
    constexpr std::array<std::string_view, 3> reaches{"process", "machine", "network"};
    constexpr std::array<std::string_view, 4> fences{"none", "transient", "hybrid", "consensus"};
    constexpr std::array<std::string_view, 3> wakes{"polling", "hint", "grant"};
    out.key("guarantees")
        .begin_object()
        .member("reach", reaches.at(static_cast<std::size_t>(able.reach)))
        .member("shared", able.shared)
        .member("permits", able.permits)
        .member("fair", able.fair)
        .member("loses_permits", able.loses_permits)
        .member("lock_delay", able.lock_delay)
        .member("notices_death", able.notices_death)
        .member("keeps_while_stopped", able.keeps_while_stopped)
        .member("fences", fences.at(static_cast<std::size_t>(able.fences)))
        .member("fence_per_pass", able.fence_per_pass)
        .member("wake", wakes.at(static_cast<std::size_t>(able.wake)))
        .member("max_name_bytes", static_cast<std::int64_t>(able.max_name_bytes))
        .key("assumptions")
        .begin_array();
    for (const auto one : assumptions_of(able)) {
        out.value(name_of_assumption(one));
    }
    out.end_array().end_object();
}

void write_findings(json& out, const std::vector<finding>& findings) {
    out.key("findings").begin_array();
    for (const auto& found : findings) {
        out.begin_object()
            .member("grade", name_of_grade(found.how))
            .member("what", std::string_view{found.what})
            .member("fix", std::string_view{found.fix})
            .end_object();
    }
    out.end_array();
}

} // namespace

diagnosis completed(diagnosis all) {
    add_probe(all.probe, all.findings);
    add_guarantees(all.able, all.findings);
    for (auto& found : all.findings) {
        if (found.how != finding::grade::good && found.fix.empty()) {
            found.fix = "none that we know of: ask whoever runs the engine";
        }
    }
    std::stable_sort(
        all.findings.begin(), all.findings.end(), [](const finding& left, const finding& right) {
            return left.how > right.how;
        });
    return all;
}

finding::grade overall(const diagnosis& all) noexcept {
    auto worst = finding::grade::good;
    for (const auto& found : all.findings) {
        worst = std::max(worst, found.how);
    }
    return worst;
}

std::string as_text(const diagnosis& all) {
    const auto grade = overall(all);
    std::string text = in(colour::bold, all.able.engine) + "  " +
                       printable(without_password(all.url)) + "  " +
                       in(colour_of(grade), name_of_grade(grade)) + "\n";
    text += line("probe", probe_text(all.probe));
    return text + guarantees_text(all) + findings_text(all.findings);
}

std::string as_json(const diagnosis& all) {
    const auto url = without_password(all.url);
    json out;
    out.begin_object()
        .member("engine", all.able.engine)
        .member("url", std::string_view{url})
        .member("grade", name_of_grade(overall(all)));
    write_probe(out, all.probe);
    write_guarantees(out, all.able);
    write_findings(out, all.findings);
    return out.end_object().text() + "\n";
}

} // namespace holdfast::cli
