// One thread, one loop:
//
//   due by the clock ─▶ stop, continue, kill, TERM, start again; more pauses from now on; finish
//   a signal         ─▶ a child ended; ^C
//   a question       ─▶ the vault answers
//
// All that it does is by pid, to children that have not been reaped: a pid is never somebody
// else's.

#include "conductor.hpp"
#include "../complaint.hpp"
#include "../durations.hpp"
#include "../offspring.hpp"
#include "../terminal.hpp"
#include "../text.hpp"
#include "arena.hpp"
#include "journal.hpp"
#include "worker.hpp"

#include <holdfast/client.hpp>
#include <holdfast/error.hpp>
#include <holdfast/mutex.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <new>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace holdfast::cli::ordeal {

namespace {

using namespace std::chrono_literals;

tick now() { return boot_clock::now().time_since_epoch().count(); }

// -------------------------------------------------------------------------------------- signals

/// Those that end a run, and SIGCHLD, as messages; as they were when it is over.
class listening {
public:
    listening() {
        sigset_t ours;
        sigemptyset(&ours);
        for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD}) {
            sigaddset(&ours, signal);
        }
        ::pthread_sigmask(SIG_BLOCK, &ours, &before_);
        descriptor_ = owned_descriptor{::signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK)};
        if (descriptor_.number() < 0) {
            throw std::system_error{errno, std::generic_category(), "cannot listen to signals"};
        }
    }
    ~listening() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    listening(const listening&) = delete;
    listening& operator=(const listening&) = delete;

    [[nodiscard]] int descriptor() const noexcept { return descriptor_.number(); }

    /// 0: none is waiting.
    [[nodiscard]] int next() const noexcept {
        signalfd_siginfo info{};
        return ::read(descriptor(), &info, sizeof info) == sizeof info
                   ? static_cast<int>(info.ssi_signo)
                   : 0;
    }

private:
    owned_descriptor descriptor_;
    sigset_t before_{};
};

// ----------------------------------------------------------------------------------- one process

enum class expected : std::uint8_t { to_live, to_die, to_finish };

/// One worker process, from its start until it is reaped; its journal stays.
struct life {
    std::uint32_t worker = 0;
    pid_t pid = -1;
    journal book;
    owned_descriptor line; ///< our end; it asks the vault here
    ordeal::expected expected = expected::to_live;
    tick died = never; ///< not before this
    bool reaped = false;
    tick resume_at = never;
};

std::string told(int status) {
    return WIFSIGNALED(status) ? "was ended by signal " + std::to_string(WTERMSIG(status))
                               : "ended with " + std::to_string(WEXITSTATUS(status));
}

// --------------------------------------------------------------------------------- the conductor

class conductor {
public:
    conductor(const run_settings& settings, const capabilities& able, const std::string& prefix)
        : settings_{settings}, plan_{draw_schedule({.seed = settings.seed,
                                                    .length = settings.length,
                                                    .ttl = settings.ttl,
                                                    .workers = settings.workers})} {
        auto& shared = *new (memory_.start()) arena{};
        std::strncpy(shared.url.data(), settings.url.c_str(), longest_url);
        std::strncpy(shared.prefix.data(), prefix.c_str(), shared.prefix.size() - 1);
        shared.ttl = settings.ttl.count();
        shared.seed = settings.seed;
        shared.permits = std::max(2U, settings.workers / 2);
        shared.has_fences = able.fences != fence_grade::none;
        shared.has_permits = able.permits;
        shared.has_readers = able.shared;
        found_.permits = shared.permits;
    }
    ~conductor() { kill_all(); }
    conductor(const conductor&) = delete;
    conductor& operator=(const conductor&) = delete;

    evidence run() {
        found_.run.from = now();
        posts_.resize(settings_.workers);
        for (std::uint32_t i = 0; i < settings_.workers; ++i) {
            begin(i);
        }
        while (!found_.interrupted && !all_broken() && elapsed() < settings_.length) {
            do_what_is_due();
            wait(next_due());
            show_progress();
        }
        found_.run.to = now();
        finish();
        clear_progress();
        return collect();
    }

private:
    struct post {
        std::unique_ptr<life> now; ///< nobody between death and restart
        tick restart_at = never;
        std::size_t disturbed_by = 0; ///< index of the last fault
    };

    [[nodiscard]] duration elapsed() const { return duration{now() - found_.run.from}; }
    [[nodiscard]] arena& shared() const { return *static_cast<arena*>(memory_.start()); }

    // ---- starting and ending

    void begin(std::uint32_t worker) {
        auto one = std::make_unique<life>();
        auto [ours, theirs] = make_line();
        one->worker = worker;
        one->line = std::move(ours);
        one->pid = start_offspring(worker_verb,
                                   {memory_.descriptor(), one->book.descriptor(), theirs.number()});
        posts_[worker].now = std::move(one);
        posts_[worker].restart_at = never;
    }

    void kill_all() noexcept {
        for (auto& seat : posts_) {
            if (seat.now && !seat.now->reaped) {
                seat.now->expected = expected::to_die;
                seat.now->died = std::min(seat.now->died, now());
                ::kill(seat.now->pid, SIGKILL);
                ::waitpid(seat.now->pid, nullptr, 0);
                seat.now->reaped = true;
            }
        }
    }

    /// All are told to finish, and get the time that the longest wait and hold can take.
    void finish() {
        shared().stopping = true;
        for (const auto& seat : posts_) {
            if (seat.now && !seat.now->reaped) {
                ::kill(seat.now->pid, SIGCONT);
            }
        }
        const auto until = boot_clock::now() + 4 * settings_.ttl + 10s;
        while (!found_.interrupted && anybody_left() && boot_clock::now() < until) {
            wait(20ms);
        }
        for (auto& seat : posts_) {
            if (!found_.interrupted && seat.now && !seat.now->reaped) {
                found_.mishaps.push_back({.worker = seat.now->worker,
                                          .pid = seat.now->pid,
                                          .how = "did not end when it was told to"});
            }
        }
        kill_all();
    }

    [[nodiscard]] bool anybody_left() const {
        return std::any_of(posts_.begin(), posts_.end(), [](const post& one) {
            return one.now && !one.now->reaped;
        });
    }

    [[nodiscard]] bool all_broken() const { return found_.mishaps.size() >= settings_.workers; }

    // ---- faults

    void do_what_is_due() {
        if (elapsed() >= plan_.pauses_from) {
            shared().pauses = true;
        }
        for (; next_fault_ < plan_.faults.size() && plan_.faults[next_fault_].at <= elapsed();
             ++next_fault_) {
            aimed_.push_back(plan_.faults[next_fault_]);
        }
        std::erase_if(aimed_,
                      [this](const fault& one) { return is_time_for(one) && disturb(one); });
        for (std::uint32_t i = 0; i < posts_.size(); ++i) {
            auto& seat = posts_[i];
            if (seat.now && seat.now->resume_at <= now()) {
                ::kill(seat.now->pid, SIGCONT);
                seat.now->resume_at = never;
                found_.disturbances[seat.disturbed_by].to = now();
            }
            if (!seat.now && seat.restart_at <= now()) {
                begin(i);
                found_.disturbances[seat.disturbed_by].to = now();
            }
        }
    }

    /// An aimed fault waits a little for its worker to hold what it is aimed at.
    [[nodiscard]] bool is_time_for(const fault& what) const {
        const auto& seat = posts_[what.worker];
        return !what.aim || !seat.now || elapsed() > what.at + settings_.ttl / 2 ||
               seat.now->book.holds(*what.aim);
    }

    /// True: it is dealt with. Nothing is done to a worker that is under another fault.
    bool disturb(const fault& what) {
        auto& seat = posts_[what.worker];
        if (!seat.now || seat.now->resume_at != never || seat.now->expected != expected::to_live) {
            return true;
        }
        auto& victim = *seat.now;
        disturbance told;
        told.from = now();
        told.to = never;
        told.what = what.what;
        told.worker = what.worker;
        told.pid = victim.pid;
        seat.disturbed_by = found_.disturbances.size();
        found_.disturbances.push_back(told);
        switch (what.what) {
        case fault_kind::pause:
            ::kill(victim.pid, SIGSTOP);
            victim.resume_at = told.from + what.length.count();
            break;
        case fault_kind::kill:
            victim.expected = expected::to_die;
            victim.died = told.from; // before the signal: until then it did believe
            seat.restart_at = told.from + what.length.count();
            ::kill(victim.pid, SIGKILL);
            break;
        case fault_kind::term:
            victim.expected = expected::to_finish;
            seat.restart_at = told.from;
            ::kill(victim.pid, SIGTERM);
            break;
        }
        return true;
    }

    [[nodiscard]] duration next_due() const {
        if (!aimed_.empty()) {
            return 1ms;
        }
        auto due = found_.run.from + settings_.length.count();
        if (next_fault_ < plan_.faults.size()) {
            due = std::min(due, found_.run.from + plan_.faults[next_fault_].at.count());
        }
        for (const auto& seat : posts_) {
            due = std::min(due, seat.now ? seat.now->resume_at : seat.restart_at);
        }
        return std::clamp<duration>(duration{due - now()}, 0s, 250ms);
    }

    // ---- what comes in

    void wait(duration at_most) {
        std::vector<pollfd> sources{{.fd = signals_.descriptor(), .events = POLLIN, .revents = 0}};
        for (const auto& seat : posts_) {
            sources.push_back(
                {.fd = seat.now ? seat.now->line.number() : -1, .events = POLLIN, .revents = 0});
        }
        const auto ms = std::chrono::ceil<std::chrono::milliseconds>(at_most).count();
        if (::poll(sources.data(), sources.size(), static_cast<int>(ms)) <= 0) {
            return;
        }
        for (std::size_t i = 0; i < posts_.size(); ++i) {
            if ((sources[i + 1].revents & POLLIN) != 0) {
                answer(*posts_[i].now);
            }
        }
        if (sources[0].revents != 0) {
            hear_signals();
        }
    }

    void answer(const life& asker) {
        vault_question question;
        while (::recv(asker.line.number(), &question, sizeof question, MSG_DONTWAIT) ==
               sizeof question) {
            const auto said = vault_.ask(question, asker.worker);
            ::send(asker.line.number(), &said, sizeof said, MSG_NOSIGNAL | MSG_DONTWAIT);
        }
    }

    void hear_signals() {
        while (const int signal = signals_.next()) {
            if (signal != SIGCHLD) {
                found_.interrupted = true;
                found_.signal = signal;
            }
        }
        for (auto& seat : posts_) {
            int status = 0;
            if (seat.now && !seat.now->reaped &&
                ::waitpid(seat.now->pid, &status, WNOHANG) == seat.now->pid) {
                ended(seat, status);
            }
        }
    }

    void ended(post& where, int status) {
        auto& one = *where.now;
        one.reaped = true;
        const bool clean = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        const bool told_to = one.expected == expected::to_finish || shared().stopping;
        if (one.expected != expected::to_die && !(told_to && clean)) {
            one.died = std::min(one.died, one.book.size() == 0 ? found_.run.from : now());
            found_.mishaps.push_back({.worker = one.worker, .pid = one.pid, .how = told(status)});
            where.restart_at = never; // whatever broke it would break the next one
        }
        if (!shared().stopping) {
            bury(*where.now);
            where.now.reset();
        }
    }

    /// Keeps what it wrote down, and nothing else of it: a long run has many dead.
    void bury(const life& dead) {
        for (const auto& written : dead.book.all()) {
            attempt whole;
            static_cast<record&>(whole) = written;
            whole.worker = dead.worker;
            whole.pid = dead.pid;
            whole.died = dead.died;
            found_.attempts.push_back(whole);
        }
    }

    // ---- telling

    [[nodiscard]] std::size_t asked_so_far() const {
        std::size_t sum = found_.attempts.size();
        for (const auto& seat : posts_) {
            sum += seat.now ? seat.now->book.size() : 0;
        }
        return sum;
    }

    void show_progress() {
        if (!on_terminal_ || now() < next_line_at_) {
            return;
        }
        next_line_at_ = now() + duration{200ms}.count();
        std::string line = "\r";
        line +=
            shortened("holdfast: torture, " + human(elapsed()) + " of " + human(settings_.length) +
                          ": " + std::to_string(asked_so_far()) + " attempts, " +
                          std::to_string(found_.disturbances.size()) + " faults",
                      width_of(STDERR_FILENO) - 1);
        tell(line + "\x1b[K");
    }

    void clear_progress() const {
        if (on_terminal_) {
            tell("\r\x1b[K");
        }
    }

    // ---- collecting

    evidence collect() {
        for (const auto& seat : posts_) {
            if (seat.now) {
                bury(*seat.now);
            }
        }
        for (auto& one : found_.disturbances) {
            one.to = std::min(one.to, found_.run.to);
        }
        found_.first_failure = shared().first_failure.data();
        found_.vault_log = vault_.log();
        found_.vault_refused = vault_.refused();
        return std::move(found_);
    }

    run_settings settings_;
    schedule plan_;
    shared_memory memory_{sizeof(arena)};
    listening signals_;
    std::vector<post> posts_;
    std::size_t next_fault_ = 0;
    std::vector<fault> aimed_; // due, but their workers do not hold what they are aimed at
    vault vault_;
    evidence found_;
    bool on_terminal_ = is_terminal(STDERR_FILENO) && in_foreground_of(STDERR_FILENO);
    tick next_line_at_ = 0;
};

// ------------------------------------------------------------------------- before and afterwards

/// Unlike any other run's, also on an engine that is far away.
std::string drawn_prefix() {
    const auto where = static_cast<std::uint64_t>(::getpid());
    const auto when =
        static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
    return "holdfast/torture/" + std::to_string(where) + "-" + std::to_string(when) + "/";
}

client open_engine(const std::string& url) {
    client_options ours;
    ours.purpose = "holdfast torture";
    return open(url, ours);
}

/// Whether it is there at all, and what it can do.
capabilities probe(const std::string& url, const std::string& prefix) {
    const auto engine = open_engine(url);
    const auto able = engine.capabilities();
    if (able.reach == reach::process) {
        throw_error(errc::unsupported,
                    std::string{able.engine} +
                        ": reaches this process only; torture needs locks among processes");
    }
    auto held = mutex{engine, prefix + "probe"}.acquire({.wait = 5s, .ttl = 10s});
    held.release();
    return able;
}

std::vector<lock_info> left_of(const client& engine, const std::string& prefix) {
    auto all = engine.inspect(pattern_for(prefix) + "*");
    std::erase_if(all, [&](const lock_info& one) {
        return !one.name.starts_with(prefix) || (one.holders.empty() && one.waiters.empty());
    });
    return all;
}

/// Whoever still holds or waits when all workers have ended. What the killed held ends after a ttl.
void look_for_orphans(evidence& found, const client& engine, const std::string& prefix) {
    const auto until = boot_clock::now() + 3 * found.ttl / 2;
    auto left = left_of(engine, prefix);
    while (!left.empty() && boot_clock::now() < until) {
        ::poll(nullptr, 0, 20);
        left = left_of(engine, prefix);
    }
    found.orphans = 0;
    for (const auto& one : left) {
        *found.orphans += static_cast<std::int64_t>(one.holders.size() + one.waiters.size());
    }
    found.first_orphan = left.empty() ? "" : left.front().name;
}

void clean_up(const client& engine, const std::string& prefix) {
    for (const auto& one : left_of(engine, prefix)) {
        if (!one.holders.empty()) {
            engine.force_release(one.name);
        }
    }
}

} // namespace

evidence conduct(const run_settings& settings) {
    const auto url = settings.url.empty() ? default_url() : settings.url;
    if (url.size() > longest_url) {
        throw usage_error{"the URL is longer than " + std::to_string(longest_url) + " bytes"};
    }
    const auto prefix = drawn_prefix();
    const auto able = probe(url, prefix);
    auto whole = settings;
    whole.url = url;
    auto found = conductor{whole, able, prefix}.run();
    found.url = without_password(url);
    found.able = able;
    found.seed = settings.seed;
    found.workers = settings.workers;
    found.ttl = settings.ttl;
    try {
        const auto engine = open_engine(url);
        if (!found.interrupted) {
            look_for_orphans(found, engine, prefix);
        }
        clean_up(engine, prefix);
    } catch (const std::system_error& problem) {
        say(std::string{"could not look for what is left: "} + problem.what());
    }
    return found;
}

} // namespace holdfast::cli::ordeal
