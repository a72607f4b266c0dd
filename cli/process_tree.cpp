#include "process_tree.hpp"

#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace holdfast::cli {

namespace {

/// So often we kill whoever is there, and look again. Then they fork faster than that.
constexpr int plain_passes_max = 20;

/// As many passes as it may take to stop those who fork faster than we look; then kill anyway.
constexpr int freezing_passes_max = 50;

struct closed_directory {
    void operator()(DIR* directory) const noexcept { ::closedir(directory); }
};

std::string_view read_stat(pid_t pid, std::span<char> buffer) noexcept {
    std::array<char, 32> path{};
    std::snprintf(path.data(), path.size(), "/proc/%d/stat", pid);
    const int file = ::open(path.data(), O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return {};
    }
    const auto size = ::read(file, buffer.data(), buffer.size());
    ::close(file);
    return {buffer.data(), size < 0 ? 0 : static_cast<std::size_t>(size)};
}

/// The n-th word of what follows "pid (command) ", counted from 0.
std::string_view word(std::string_view text, int n) noexcept {
    for (; n > 0; --n) {
        const auto blank = text.find(' ');
        text.remove_prefix(blank == std::string_view::npos ? text.size() : blank + 1);
    }
    return text.substr(0, text.find(' '));
}

template <class Number> Number number_in(std::string_view text) noexcept {
    Number number{};
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

std::vector<process> all_processes() {
    std::vector<process> found;
    const std::unique_ptr<DIR, closed_directory> proc{::opendir("/proc")};
    while (const dirent* entry = proc ? ::readdir(proc.get()) : nullptr) {
        if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) == 0) {
            continue;
        }
        if (const auto seen = look_at(number_in<pid_t>(entry->d_name))) {
            found.push_back(*seen);
        }
    }
    return found;
}

/// By descriptor, and only if the number still means whom we saw: pids are used again.
void signal_process(const process& whom, int signal) noexcept {
    // glibc 2.36 declares these two without extern "C".
    const auto handle = static_cast<int>(::syscall(SYS_pidfd_open, whom.pid, 0));
    if (handle < 0) {
        return; // gone
    }
    const auto seen = look_at(whom.pid);
    if (seen && seen->started == whom.started) {
        ::syscall(SYS_pidfd_send_signal, handle, signal, nullptr, 0); // gone or not ours: so be it
    }
    ::close(handle);
}

} // namespace

std::optional<process> look_at(pid_t pid) noexcept {
    std::array<char, 1024> buffer{};
    auto stat = read_stat(pid, buffer);
    const auto command_end = stat.rfind(") "); // the command may contain anything, also ") "
    if (command_end == std::string_view::npos) {
        return std::nullopt;
    }
    stat.remove_prefix(command_end + 2); // now: state parent … (proc(5), fields 3, 4 and 22)
    return process{.pid = pid,
                   .parent = number_in<pid_t>(word(stat, 1)),
                   .state = stat.empty() ? '?' : stat[0],
                   .started = number_in<unsigned long long>(word(stat, 19))};
}

bool is_stopped(pid_t pid) noexcept {
    const auto seen = look_at(pid);
    return seen && seen->state == 'T';
}

std::vector<process> descendants_of(pid_t root) {
    auto others = all_processes();
    std::vector<process> below;
    std::set<pid_t> parents{root};
    for (bool grew = true; grew;) { // one pass for each generation
        const auto before = below.size();
        std::erase_if(others, [&](const process& one) {
            const bool ours = parents.contains(one.parent);
            if (ours) {
                below.push_back(one);
            }
            return ours;
        });
        for (auto i = before; i < below.size(); ++i) {
            parents.insert(below[i].pid);
        }
        grew = below.size() > before;
    }
    return below;
}

bool belongs_to(pid_t root, pid_t pid) noexcept {
    while (pid > 1 && pid != root) {
        const auto seen = look_at(pid);
        pid = seen ? seen->parent : 0;
    }
    return pid == root;
}

void signal_descendants(int signal) {
    for (const auto& one : descendants_of(::getpid())) {
        signal_process(one, signal);
    }
}

void adopt_orphans() noexcept { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::optional<reaped> reap() noexcept {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    return pid > 0 ? std::optional{reaped{pid, status}} : std::nullopt;
}

bool has_descendants() noexcept {
    siginfo_t info{};
    return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

namespace {

/// True if a whole look found nobody new: all that were there have been struck.
bool kill_all_in_sight() {
    std::set<pid_t> struck;
    for (int pass = 0; pass < plain_passes_max; ++pass) {
        bool somebody_new = false;
        for (const auto& one : descendants_of(::getpid())) {
            if (struck.insert(one.pid).second) {
                signal_process(one, SIGKILL);
                somebody_new = true;
            }
        }
        if (!somebody_new) {
            return true;
        }
    }
    return false;
}

} // namespace

namespace detail {

// Freezing comes last: should somebody kill us in the middle of it, the frozen would stay for ever.
void strike_descendants() {
    if (kill_all_in_sight()) {
        return;
    }
    std::set<pid_t> frozen;
    for (int pass = 0; pass < freezing_passes_max; ++pass) {
        bool somebody_new = false;
        for (const auto& one : descendants_of(::getpid())) {
            if (frozen.insert(one.pid).second) {
                signal_process(one, SIGSTOP);
                somebody_new = true;
            }
        }
        if (!somebody_new) {
            break;
        }
    }
    signal_descendants(SIGKILL);
}

/// The killed need a moment; SIGCHLD (blocked, hence pending) ends it early.
void pause_for_deaths() noexcept {
    sigset_t deaths;
    sigemptyset(&deaths);
    sigaddset(&deaths, SIGCHLD);
    const timespec moment{.tv_sec = 0, .tv_nsec = 10'000'000};
    ::sigtimedwait(&deaths, nullptr, &moment);
}

} // namespace detail
} // namespace holdfast::cli
