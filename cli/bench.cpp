// `holdfast bench [URL]`: how fast this engine is, here and now.
//
//   uncontended        one thread, nobody else: acquire and release, both answered
//   threads            of one process, for one name: a lease is mostly handed on inside
//   processes          for one name: how often it really goes from one to another
//   readers            threads of one process that share it
//
// Names begin with one prefix that only this run has, and nothing of them is left.

#include "bench.hpp"
#include "bench/histogram.hpp"
#include "complaint.hpp"
#include "exit_codes.hpp"
#include "offspring.hpp"
#include "terminal.hpp"
#include "text.hpp"

#include <holdfast/mutex.hpp>
#include <holdfast/shared_mutex.hpp>

#include <atomic>
#include <csignal>
#include <cstring>
#include <new>
#include <poll.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace holdfast::cli {

namespace {

using namespace std::chrono_literals;
using benchmark::charset;
using benchmark::histogram;

constexpr acquire_options how_long{.ttl = 10s};
constexpr std::size_t longest_url = 4000;
constexpr std::size_t most_processes = 64;

struct measurement {
    const char* key;
    std::string what;
    std::int64_t threads = 1;
    std::int64_t processes = 1;
    histogram times{};
    duration took{};
    std::int64_t owner_changes = -1; ///< between processes; -1: there is only one

    [[nodiscard]] std::int64_t per_second(std::int64_t count) const {
        const auto seconds = std::chrono::duration<double>{took}.count();
        return seconds > 0 ? static_cast<std::int64_t>(static_cast<double>(count) / seconds) : 0;
    }
};

/// Calls f again and again until it is over, and notes how long each took.
template <class F> void repeat(const std::atomic<bool>& over, histogram& times, F&& f) {
    while (!over.load(std::memory_order_relaxed)) {
        const auto before = boot_clock::now();
        f();
        times.add((boot_clock::now() - before).count());
    }
}

// ------------------------------------------------------------------------------- in one process

/// `each(over, times)` on so many threads, for so long.
template <class Each> void run_threads(measurement& m, duration length, Each each) {
    std::atomic<bool> over{false};
    std::vector<histogram> times(static_cast<std::size_t>(m.threads));
    const auto begin = boot_clock::now();
    {
        std::vector<std::jthread> threads;
        for (auto& own : times) {
            threads.emplace_back([&] { each(over, own); });
        }
        std::this_thread::sleep_for(length);
        over = true;
    }
    m.took = boot_clock::now() - begin;
    for (const auto& own : times) {
        m.times.add(own);
    }
}

/// A failure on a thread of ours ends that thread only; the first is told afterwards.
class first_failure {
public:
    template <class F> void guard(F&& f) noexcept {
        try {
            f();
        } catch (...) {
            const std::scoped_lock turn{guard_};
            what_ = what_ ? what_ : std::current_exception();
        }
    }
    void rethrow() const {
        if (what_) {
            std::rethrow_exception(what_);
        }
    }

private:
    std::mutex guard_;
    std::exception_ptr what_;
};

template <class Lock, class Cycle>
measurement on_threads(measurement m, const bench_options& options, Lock& lock, Cycle cycle) {
    first_failure failed;
    run_threads(m, options.length, [&](const std::atomic<bool>& over, histogram& times) {
        failed.guard([&] { repeat(over, times, [&] { cycle(lock); }); });
    });
    failed.rethrow();
    return m;
}

void acquire_and_release(mutex& lock) {
    auto held = lock.acquire(how_long);
    held.release();
}

// --------------------------------------------------------------------------- among processes

struct page {
    std::array<char, longest_url + 1> url{};
    std::array<char, 100> name{};
    std::atomic<std::int64_t> ready;
    std::atomic<bool> go;
    std::atomic<bool> over;
    std::atomic<std::int64_t> failures;
    std::atomic<std::int64_t> owner; ///< the process that had it last; changed under the lock only
    std::atomic<std::int64_t> owner_changes;
    std::array<histogram, most_processes> times{};
};

/// The workers of one measurement: killed, if they have not ended by themselves.
class crew {
public:
    crew(const shared_memory& memory, std::uint32_t count) {
        for (std::uint32_t i = 0; i < count; ++i) {
            pids_.push_back(start_offspring(bench_worker_verb, {memory.descriptor()}));
        }
    }
    ~crew() {
        for (const auto pid : pids_) {
            ::kill(pid, SIGKILL);
            ::waitpid(pid, nullptr, 0);
        }
    }
    crew(const crew&) = delete;
    crew& operator=(const crew&) = delete;

    /// Whether all have ended by then.
    bool leave_within(duration time) {
        const auto until = boot_clock::now() + time;
        while (!pids_.empty() && boot_clock::now() < until) {
            std::erase_if(pids_, [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) == pid; });
            ::poll(nullptr, 0, 5);
        }
        return pids_.empty();
    }

private:
    std::vector<pid_t> pids_;
};

bool all_ready(const page& shared, std::uint32_t count) {
    const auto until = boot_clock::now() + 20s;
    while (shared.ready < count && shared.failures == 0 && boot_clock::now() < until) {
        ::poll(nullptr, 0, 5);
    }
    return shared.ready == count;
}

measurement among_processes(measurement m, const bench_options& options, const std::string& name) {
    const shared_memory memory{sizeof(page)};
    auto& shared = *new (memory.start()) page{};
    std::strncpy(shared.url.data(), options.url.c_str(), longest_url);
    std::strncpy(shared.name.data(), name.c_str(), shared.name.size() - 1);
    crew workers{memory, options.processes};
    if (!all_ready(shared, options.processes)) {
        throw std::runtime_error{"the processes that should contend did not get ready"};
    }
    const auto begin = boot_clock::now();
    shared.go = true;
    std::this_thread::sleep_for(options.length);
    shared.over = true;
    m.took = boot_clock::now() - begin;
    if (!workers.leave_within(10s) || shared.failures > 0) {
        throw std::runtime_error{"a process that contended failed, or did not end"};
    }
    for (const auto& own : shared.times) {
        m.times.add(own);
    }
    m.owner_changes = shared.owner_changes;
    return m;
}

void contend(page& shared) {
    client_options ours;
    ours.purpose = "holdfast bench";
    const auto engine = open(shared.url.data(), ours);
    mutex lock{engine, shared.name.data()};
    acquire_and_release(lock); // connected, and known there
    const auto self = ++shared.ready;
    while (!shared.go) {
        ::poll(nullptr, 0, 1);
    }
    repeat(shared.over, shared.times[static_cast<std::size_t>(self - 1)], [&] {
        auto held = lock.acquire(how_long);
        if (shared.owner.exchange(self) != self) {
            ++shared.owner_changes;
        }
        held.release();
    });
    engine.close();
}

// ------------------------------------------------------------------------------------ telling

std::string as_text(const std::vector<measurement>& all, const std::vector<std::string>& skipped) {
    const auto how = benchmark::charset_of_terminal();
    std::string text;
    for (const auto& one : all) {
        text += in(colour::bold, one.what) + "\n  " +
                std::to_string(one.per_second(one.times.count())) + " a second";
        if (one.owner_changes >= 0) {
            text += ", of which " + std::to_string(one.per_second(one.owner_changes)) +
                    " went to another process";
        }
        text += "; p50 " + told_time(one.times.percentile(50), how) + ", p90 " +
                told_time(one.times.percentile(90), how) + ", p99 " +
                told_time(one.times.percentile(99), how) + ", max " +
                told_time(one.times.max(), how) + "\n" +
                drawn(one.times, width_of(STDOUT_FILENO), how) + "\n";
    }
    for (const auto& one : skipped) {
        text += "skipped: " + one + "\n";
    }
    return text + "These are figures of one machine at one moment: they tell neither what another "
                  "one or a\nnetwork would do, nor, within a factor of two, what the next run "
                  "will.\n";
}

void write_measurement(json& out, const measurement& one) {
    out.begin_object()
        .member("name", one.key)
        .member("threads", one.threads)
        .member("processes", one.processes)
        .member("operations", one.times.count())
        .member("duration_ms", one.took / 1ms)
        .member("per_second", one.per_second(one.times.count()))
        .key("owner_changes");
    one.owner_changes >= 0 ? out.value(one.owner_changes) : out.value(nullptr);
    out.member("p50_ns", one.times.percentile(50))
        .member("p90_ns", one.times.percentile(90))
        .member("p99_ns", one.times.percentile(99))
        .member("max_ns", one.times.max())
        .key("histogram")
        .begin_array();
    for (const auto& row : one.times.doublings()) {
        out.begin_object().member("below_ns", row.below).member("count", row.count).end_object();
    }
    out.end_array().end_object();
}

std::string as_json(const std::vector<measurement>& all,
                    const std::vector<std::string>& skipped,
                    const bench_options& options,
                    const char* engine) {
    json out;
    out.begin_object()
        .member("backend", engine)
        .member("url", std::string_view{without_password(options.url)})
        .member("version", HOLDFAST_VERSION)
        .key("measurements")
        .begin_array();
    for (const auto& one : all) {
        write_measurement(out, one);
    }
    out.end_array().key("skipped").begin_array();
    for (const auto& one : skipped) {
        out.value(std::string_view{one});
    }
    out.end_array().end_object();
    return out.text() + "\n";
}

std::string drawn_prefix() {
    const auto when = std::chrono::system_clock::now().time_since_epoch().count();
    return "holdfast/bench/" + std::to_string(::getpid()) + "-" + std::to_string(when) + "/";
}

/// On a terminal: what is being measured, in the line that the result will replace.
void show_progress(const std::string& what) {
    if (is_terminal(STDERR_FILENO) && in_foreground_of(STDERR_FILENO)) {
        std::string line = "\r";
        line += what.empty() ? "" : "measuring: ";
        tell(line + what + "\x1b[K");
    }
}

} // namespace

int bench(const bench_options& given) {
    auto options = given;
    options.url = given.url.empty() ? default_url() : given.url;
    if (options.url.size() > longest_url) {
        throw usage_error{"the URL is longer than " + std::to_string(longest_url) + " bytes"};
    }
    client_options ours;
    ours.purpose = "holdfast bench";
    const auto engine = open(options.url, ours);
    const auto prefix = drawn_prefix();
    const auto threads = static_cast<std::int64_t>(options.threads);
    const auto processes = static_cast<std::int64_t>(options.processes);
    std::vector<measurement> all;
    std::vector<std::string> skipped;

    show_progress("uncontended");
    mutex alone{engine, prefix + "alone"};
    acquire_and_release(alone); // the first one connects
    all.push_back(
        on_threads({.key = "uncontended", .what = "uncontended: acquire and release, one thread"},
                   options,
                   alone,
                   acquire_and_release));

    show_progress("threads of one process");
    mutex local{engine, prefix + "threads"};
    all.push_back(on_threads(
        {.key = "threads",
         .what = "contended: " + std::to_string(threads) + " threads of one process, one name",
         .threads = threads},
        options,
        local,
        [](mutex& lock) { auto held = lock.acquire(how_long); }));

    if (engine.capabilities().reach == reach::process) {
        skipped.push_back("processes: this engine reaches one process only");
    } else {
        show_progress("processes");
        all.push_back(among_processes(
            {.key = "processes",
             .what = "contended: " + std::to_string(processes) + " processes, one name",
             .processes = processes},
            options,
            prefix + "processes"));
    }

    if (!engine.capabilities().shared) {
        skipped.push_back("readers: this engine has no shared locks");
    } else {
        show_progress("readers");
        shared_mutex readers{engine, prefix + "readers"};
        all.push_back(
            on_threads({.key = "readers",
                        .what = "shared: " + std::to_string(threads) +
                                " reading threads of one process, one name",
                        .threads = threads},
                       options,
                       readers,
                       [](shared_mutex& lock) { auto held = lock.acquire_shared(how_long); }));
    }
    show_progress("");
    print(options.format == format::json
              ? as_json(all, skipped, options, engine.capabilities().engine)
              : as_text(all, skipped));
    return exit_code::success;
}

int bench_worker(pid_t parent) {
    if (!tie_to_parent(parent)) {
        return exit_code::unavailable;
    }
    const auto memory = shared_memory::inherited(first_seat);
    auto& shared = *static_cast<page*>(memory.start());
    try {
        contend(shared);
    } catch (...) {
        ++shared.failures;
        throw;
    }
    return exit_code::success;
}

} // namespace holdfast::cli
