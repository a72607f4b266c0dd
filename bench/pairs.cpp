#include "pairs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace bench {
namespace {

[[nodiscard]] double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

[[nodiscard]] sample typical(const std::vector<sample>& rounds) {
    const auto of = [&](double sample::*what) {
        std::vector<double> all;
        for (const auto& r : rounds)
            all.push_back(r.*what);
        return median(std::move(all));
    };
    return {of(&sample::mean_ns), of(&sample::p50_ns), of(&sample::p99_ns)};
}

[[nodiscard]] cost divided(const cost& whole, std::uint64_t cycles) {
    const auto each = [&](double v) { return v < 0 ? -1 : v / static_cast<double>(cycles); };
    return {each(whole.syscalls), each(whole.switches), each(whole.cpu_ns), each(whole.requests)};
}

} // namespace

std::int64_t now_ns() noexcept {
    timespec ts{};
    ::clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1'000'000'000 + ts.tv_nsec;
}

void check(bool holds, const char* sentence) {
    if (holds)
        return;
    std::fprintf(stderr, "bench: wrong result: %s\n", sentence);
    std::exit(1);
}

sample sample_of(double mean_ns, std::vector<float>& latencies) {
    check(!latencies.empty(), "nothing was measured");
    const auto at = [&](double part) {
        const auto where =
            static_cast<std::ptrdiff_t>(static_cast<double>(latencies.size()) * part);
        std::nth_element(latencies.begin(), latencies.begin() + where, latencies.end());
        return static_cast<double>(latencies[static_cast<std::size_t>(where)]);
    };
    return {mean_ns, at(0.5), at(0.99)};
}

std::vector<standing> compete(std::span<const contender> all,
                              std::size_t rounds,
                              std::span<const int> servers,
                              const std::function<double()>& requests) {
    std::vector<standing> out;
    for (const auto& c : all) {
        out.push_back({c.name, {}, {}, {}});
        static_cast<void>(c.run(c.cycles / 4 + 1)); // warm
    }
    for (std::size_t round = 0; round < rounds; ++round)
        for (std::size_t i = 0; i < all.size(); ++i) {
            const auto which = (round + i) % all.size();
            out[which].rounds.push_back(all[which].run(all[which].cycles));
        }
    for (std::size_t i = 0; i < all.size(); ++i) {
        out[i].typical = typical(out[i].rounds);
        const auto asked = requests ? requests() : 0;
        const counting all_that_follows{servers};
        static_cast<void>(all[i].run(all[i].cycles));
        auto whole = all_that_follows.read();
        whole.requests = requests ? requests() - asked : -1;
        out[i].each = divided(whole, all[i].cycles);
    }
    return out;
}

standing standing_of(std::string name, std::vector<sample> rounds) {
    const auto middle = typical(rounds);
    return {std::move(name), middle, {}, std::move(rounds)};
}

// The number of values below the true median is binomial with p = 1/2: take the pair of ranks,
// symmetric about the middle and as close to it as 95 % allows.
quotient quotient_of(std::vector<double> values) {
    check(!values.empty(), "no pairs");
    std::sort(values.begin(), values.end());
    const auto n = values.size();
    double outside = 0;
    double chance = std::pow(0.5, static_cast<double>(n)); // of exactly k below
    std::size_t rank = 0;
    for (std::size_t k = 0; k < n / 2; ++k) {
        outside += 2 * chance;
        if (outside > 0.05)
            break;
        rank = k;
        chance *= static_cast<double>(n - k) / static_cast<double>(k + 1);
    }
    return {values[n / 2], values[rank], values[n - 1 - rank]};
}

quotient compare(const standing& ours, const standing& theirs, double sample::*what) {
    std::vector<double> pairs;
    for (std::size_t i = 0; i < ours.rounds.size(); ++i)
        pairs.push_back(ours.rounds[i].*what / theirs.rounds[i].*what);
    return quotient_of(std::move(pairs));
}

// ------------------------------------------------------------------------------------ placement

const char* name_of(placed where) noexcept {
    switch (where) {
    case placed::anywhere:
        return "free";
    case placed::one_cpu:
        return "one CPU";
    case placed::two_cpus:
        return "two CPUs";
    }
    return "";
}

int cpus() noexcept { return static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)); }

std::vector<placed> places() {
    std::vector<placed> all = {placed::anywhere, placed::one_cpu};
    if (cpus() > 1)
        all.push_back(placed::two_cpus);
    return all;
}

namespace {

[[nodiscard]] cpu_set_t cpus_for(placed where, std::size_t which) noexcept {
    cpu_set_t set;
    CPU_ZERO(&set);
    const auto count = static_cast<std::size_t>(cpus());
    for (std::size_t i = 0; i < count; ++i)
        CPU_SET(i, &set);
    if (where != placed::anywhere) {
        const auto last = count - 1; // interrupts prefer the first one
        CPU_ZERO(&set);
        CPU_SET(where == placed::one_cpu ? last : last - which % 2, &set);
    }
    return set;
}

} // namespace

void place(placed where, std::size_t which) noexcept {
    const auto set = cpus_for(where, which);
    ::sched_setaffinity(0, sizeof set, &set);
}

void place_process(int pid, placed where, std::size_t which) {
    const auto set = cpus_for(where, which);
    std::error_code ended; // by itself: some servers have children that come and go
    for (const auto& task :
         std::filesystem::directory_iterator{"/proc/" + std::to_string(pid) + "/task", ended}) {
        ::sched_setaffinity(std::stoi(task.path().filename()), sizeof set, &set);
        std::ifstream children{task.path() / "children"};
        for (int child = 0; children >> child;)
            place_process(child, where, which);
    }
}

// ------------------------------------------------------------------------------------- counting

namespace {

constexpr const char* tracepoint = "/sys/kernel/tracing/events/raw_syscalls/sys_enter/id";

[[nodiscard]] std::uint64_t tracepoint_number() {
    std::uint64_t number = 0;
    std::ifstream{tracepoint} >> number;
    return number;
}

[[nodiscard]] int open_counter(int task, std::uint32_t type, std::uint64_t config) noexcept {
    perf_event_attr what{};
    what.size = sizeof what;
    what.type = type;
    what.config = config;
    what.inherit = 1;
    return static_cast<int>(
        ::syscall(SYS_perf_event_open, &what, task, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

/// All threads of a process and of its children.
void find_tasks(const std::filesystem::path& process,
                std::span<const int> but_these,
                std::vector<int>& found) {
    for (const auto& task : std::filesystem::directory_iterator{process / "task"}) {
        found.push_back(std::stoi(task.path().filename()));
        std::ifstream children{task.path() / "children"};
        for (int child = 0; children >> child;)
            if (std::find(but_these.begin(), but_these.end(), child) == but_these.end())
                find_tasks("/proc/" + std::to_string(child), but_these, found);
    }
}

[[nodiscard]] double sum(const std::vector<int>& all) {
    if (all.empty())
        return -1;
    double total = 0;
    for (const int fd : all) {
        std::uint64_t value = 0;
        if (fd < 0 || ::read(fd, &value, sizeof value) != static_cast<ssize_t>(sizeof value))
            return -1;
        total += static_cast<double>(value);
    }
    return total;
}

} // namespace

counting::counting(std::span<const int> but_these) {
    std::vector<int> tasks;
    find_tasks("/proc/self", but_these, tasks);
    const auto number = tracepoint_number();
    for (const int task : tasks)
        add(task, number);
    begin_ = read();
}

void counting::add(int task, std::uint64_t number) {
    switches_.push_back(open_counter(task, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES));
    cpu_.push_back(open_counter(task, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK));
    if (number != 0)
        syscalls_.push_back(open_counter(task, PERF_TYPE_TRACEPOINT, number));
}

counting::~counting() {
    for (const auto* all : {&syscalls_, &switches_, &cpu_})
        for (const int fd : *all)
            if (fd >= 0)
                ::close(fd);
}

cost counting::read() const {
    const auto since = [](double now, double begin) { return now < 0 ? -1 : now - begin; };
    return {since(sum(syscalls_), begin_.syscalls),
            since(sum(switches_), begin_.switches),
            since(sum(cpu_), begin_.cpu_ns),
            -1};
}

std::string counting::what_is_missing() {
    const auto here = counting{}.read();
    if (here.cpu_ns < 0 || here.switches < 0)
        return "System calls, context switches and CPU time were not counted: perf_event_open(2) "
               "is "
               "not allowed here.";
    if (here.syscalls < 0)
        return "System calls were not counted: that needs root and a mounted tracefs.";
    return {};
}

} // namespace bench
