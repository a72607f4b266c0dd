#include "page.hpp"

#include <boost/version.hpp>

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <thread>

namespace bench {
namespace {

[[gnu::format(printf, 1, 2)]] std::string text(const char* format, ...) {
    char buffer[512];
    va_list values;
    va_start(values, format);
    std::vsnprintf(buffer, sizeof buffer, format, values);
    va_end(values);
    return buffer;
}

/// Three digits that count.
[[nodiscard]] std::string number(double v) {
    const int digits =
        v <= 0 ? 2 : std::clamp(2 - static_cast<int>(std::floor(std::log10(v))), 0, 2);
    return text("%.*f", digits, v);
}

[[nodiscard]] std::string duration_of(double ns) {
    return ns < 1000 ? number(ns) + " ns" : number(ns / 1000) + " µs";
}

[[nodiscard]] std::string both(const sample& s) {
    return duration_of(s.p50_ns) + " / " + duration_of(s.p99_ns);
}

[[nodiscard]] std::string counted(double v) { return v < 0 ? "–" : number(v); }

[[nodiscard]] std::string verdict(const line& l) {
    const auto& q = l.slower;
    if (l.the_same) // being faster is a matter of where the linker put things
        return q.low <= 1 ? "yes" : "**no**";
    if (!l.at_most)
        return "";
    if (q.high <= *l.at_most)
        return "yes";
    if (q.low > *l.at_most)
        return "**no**";
    return q.median <= *l.at_most ? "yes, within noise" : "**no**, within noise";
}

[[nodiscard]] std::string target(const line& l) {
    return l.the_same ? "no difference" : l.at_most ? "≤ " + number(*l.at_most) : "";
}

/// Two digits that count, also of what is many times as fast.
[[nodiscard]] std::string times(double v) { return text("%.*f", v < 0.1 ? 3 : 2, v); }

[[nodiscard]] std::string ratios(const findings& found) {
    std::string out =
        "| work | where | holdfast p50 / p99 | held to | its p50 / p99 | × as long (95 %) |"
        " of | target | reached |\n|---|---|---|---|---|---|---|---|---|\n";
    for (const auto& l : found.lines)
        out += "| " + l.work + " | " + name_of(l.where) + " | " + both(l.all[0].typical) + " | " +
               l.all[l.against].name + " | " + both(l.all[l.against].typical) + " | **" +
               times(l.slower.median) + "** (" + times(l.slower.low) + " to " +
               times(l.slower.high) + ") | " + l.measure + " | " + target(l) + " | " + verdict(l) +
               " |\n";
    return out;
}

[[nodiscard]] std::string single_figures(const findings& found) {
    std::string out =
        "| work | what | measured | target | reached | |\n|---|---|---|---|---|---|\n";
    for (const auto& f : found.figures)
        out += "| " + f.work + " | " + f.what + " | **" +
               (f.value < 10 ? text("%.2f", f.value) : text("%.0f", f.value)) + "** " + f.unit +
               " | " + (f.at_most ? "≤ " + number(*f.at_most) : "") + " | " +
               (!f.at_most              ? ""
                : f.value <= *f.at_most ? "yes"
                                        : "**no**") +
               " | " + f.remark + " |\n";
    return out;
}

/// Not all servers tell.
[[nodiscard]] bool requests_counted(const findings& found) {
    return std::any_of(found.lines.begin(), found.lines.end(), [](const line& l) {
        return l.all[0].each.requests >= 0;
    });
}

[[nodiscard]] std::string costs(const findings& found) {
    const bool with_requests = requests_counted(found);
    std::string out = "| work | where | contender | mean | p50 / p99 | system calls |"
                      " context switches | CPU |";
    out += with_requests ? " requests |\n|---|---|---|---|---|---|---|---|---|\n"
                         : "\n|---|---|---|---|---|---|---|---|\n";
    const line* last = nullptr;
    for (const auto& l : found.lines) {
        if (l.work.starts_with("the same") ||
            (last != nullptr && last->work == l.work && last->where == l.where))
            continue; // its figures are those of the line above
        last = &l;
        for (const auto& s : l.all)
            out += "| " + l.work + " | " + name_of(l.where) + " | " + s.name + " | " +
                   duration_of(s.typical.mean_ns) + " | " + both(s.typical) + " | " +
                   counted(s.each.syscalls) + " | " + counted(s.each.switches) + " | " +
                   (s.each.cpu_ns < 0 ? "–" : duration_of(s.each.cpu_ns)) + " |" +
                   (with_requests ? " " + counted(s.each.requests) + " |\n" : "\n");
        if (!l.remark.empty())
            out += "| | | *" + l.remark + "* | | | | | |" + (with_requests ? " |\n" : "\n");
    }
    return out;
}

[[nodiscard]] std::string first_after(const char* file, const std::string& key) {
    std::ifstream in{file};
    for (std::string row; std::getline(in, row);)
        if (row.starts_with(key))
            return row.substr(std::min(row.find(':') + 2, row.size()));
    return "unknown";
}

[[nodiscard]] std::string output_of(const char* command) {
    std::string out;
    if (std::FILE* pipe = ::popen(command, "re")) {
        char buffer[256];
        while (std::fgets(buffer, sizeof buffer, pipe) != nullptr)
            out += buffer;
        ::pclose(pipe);
    }
    while (!out.empty() && out.back() == '\n')
        out.pop_back();
    return out.empty() ? "unknown" : out;
}

constexpr const char* opinions_begin = "<!-- judgement: written by people, kept by ./dev bench -->";
constexpr const char* opinions_end = "<!-- end of judgement -->";

[[nodiscard]] std::string opinions(const std::string& before) {
    const auto begin = before.find(opinions_begin), end = before.find(opinions_end);
    if (begin == std::string::npos || end == std::string::npos || end < begin)
        return "\n";
    const auto from = begin + std::char_traits<char>::length(opinions_begin);
    return before.substr(from, end - from);
}

} // namespace

std::string file_system(const std::string& directory) {
    struct statfs about {};
    if (::statfs(directory.c_str(), &about) != 0)
        return "unknown";
    switch (static_cast<unsigned long>(about.f_type)) {
    case 0xEF53:
        return "ext4";
    case 0x01021994:
        return "tmpfs";
    case 0x58465342:
        return "xfs";
    case 0x9123683E:
        return "btrfs";
    default:
        return text("of type 0x%lx", static_cast<unsigned long>(about.f_type));
    }
}

std::string load_now() {
    std::string one, five;
    std::ifstream{"/proc/loadavg"} >> one >> five;
    return one;
}

occasion this_occasion(const subject& what, const std::string& load_before) {
    utsname system{};
    ::uname(&system);
    char day[32] = {};
    const auto now = std::time(nullptr);
    std::tm utc{};
    std::strftime(day, sizeof day, "%F %H:%M UTC", ::gmtime_r(&now, &utc));
    const char* const commit = std::getenv("HOLDFAST_COMMIT");
    std::string out;
    out += "- " + std::to_string(cpus()) + " CPUs, " + first_after("/proc/cpuinfo", "model name") +
           "; Linux " + system.release + "\n";
    out += "- GCC " + std::string{__VERSION__} + ", Release; Boost " +
           text("%d.%d", BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000) + "; " +
           what.made_with + "\n";
    out += "- load average (1 min) before: " + load_before + ", after: " + load_now() +
           ", of which this program itself makes up to 2\n";
    out += "- " + std::string{day} + ", commit " +
           (commit != nullptr ? commit : output_of("git describe --always --dirty 2>/dev/null")) +
           "\n";
    return {out, counting::what_is_missing()};
}

std::string tables(const findings& found) {
    std::string out;
    if (!found.lines.empty())
        out += ratios(found) + "\n" + costs(found) + "\n";
    if (!found.figures.empty())
        out += single_figures(found) + "\n";
    return out;
}

// Time against the limit's, so that shorter is better in every row.
std::string chart(const findings& found) {
    constexpr int row = 30, top = 54;
    int left = 430;
    double longest = 2;
    for (const auto& l : found.lines) {
        longest = std::max({longest, l.slower.high, l.at_most.value_or(0)});
        const auto letters = l.work.size() + l.all[l.against].name.size() + sizeof "two CPUs, ";
        left = std::max(left, static_cast<int>(letters) * 6);
    }
    const int right = left + 350;
    longest = std::min(std::ceil(longest * 2) / 2, 8.0);
    const auto x = [&](double v) { return left + (right - left) * std::min(v, longest) / longest; };
    const int height = top + row * static_cast<int>(found.lines.size()) + 34;
    std::string out =
        text("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
             "font-family=\"sans-serif\" font-size=\"12\">\n",
             right + 120,
             height,
             right + 120);
    out += "<style>text{fill:#24292f}.soft{fill:#57606a}.bar{fill:#4c8dd6}.over{fill:#d98236}"
           ".grid{stroke:#8c959f;stroke-opacity:.3}.bound{stroke:#24292f;stroke-width:2}"
           ".target{stroke:#cf222e;stroke-width:2}"
           "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.soft{fill:#9198a1}"
           ".bound{stroke:#e6edf3}.target{stroke:#ff7b72}}</style>\n";
    out +=
        "<text x=\"10\" y=\"20\" font-size=\"14\">How many times as long as what it is held to"
        "</text>\n<text class=\"soft\" x=\"10\" y=\"38\">shorter is better; bar: median of pairs, "
        "line: its 95 % bound, red: the target</text>\n";
    for (double v = 0; v <= longest; v += longest > 4 ? 1 : 0.5)
        out += text("<line class=\"grid\" x1=\"%.0f\" x2=\"%.0f\" y1=\"%d\" y2=\"%d\"/>"
                    "<text class=\"soft\" x=\"%.0f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
                    x(v),
                    x(v),
                    top - 4,
                    height - 28,
                    x(v),
                    height - 12,
                    v);
    int y = top;
    for (const auto& l : found.lines) {
        const auto& q = l.slower;
        const bool over = l.at_most && q.median > *l.at_most;
        const int middle = y + row / 2;
        out += text(
            "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s <tspan class=\"soft\">%s, %s</tspan>"
            "</text>\n",
            left - 8,
            middle + 4,
            l.work.c_str(),
            name_of(l.where),
            l.all[l.against].name.c_str());
        out +=
            text("<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"14\" rx=\"2\"/>\n",
                 over ? "over" : "bar",
                 left,
                 middle - 7,
                 x(q.median) - left);
        out += text("<line class=\"bound\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n",
                    x(q.low),
                    x(q.high),
                    middle,
                    middle);
        if (l.at_most)
            out += text("<line class=\"target\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n",
                        x(*l.at_most),
                        x(*l.at_most),
                        middle - 11,
                        middle + 11);
        out += text("<text x=\"%d\" y=\"%d\">%s <tspan class=\"soft\">%s–%s</tspan></text>\n",
                    right + 10,
                    middle + 4,
                    times(q.median).c_str(),
                    times(q.low).c_str(),
                    times(q.high).c_str());
        y += row;
    }
    return out + "</svg>\n";
}

std::string page(const subject& what,
                 const findings& found,
                 const effort& how,
                 const occasion& when,
                 const std::string& before) {
    std::string out = "# How fast: " + what.title + "\n\nWritten by `./dev bench " + what.engine +
                      "`, but for the part that says what to make of it.\n\n"
                      "![how many times as long as what it is held to](" +
                      what.engine + ".svg)\n\n" + ratios(found) + "\n" + single_figures(found) +
                      "\n" + opinions_begin + opinions(before) + opinions_end +
                      "\n\n## How it was measured\n\n";
    out += text("- Contenders take turns in one run, in rotating order, %zu rounds. A quotient is "
                "taken within each round; reported is the median of the quotients, with the 95 %% "
                "bound from their order statistics.\n",
                how.rounds);
    out +=
        what.held_to +
        "- Counting system calls slows them down, so that is done in rounds that are not timed." +
        (when.missing.empty() ? "" : " " + when.missing) + "\n\n## What each cycle costs\n\n" +
        costs(found) + "\n## The machine\n\n" + when.machine;
    return out;
}

} // namespace bench
