#include "conformance/child.hpp"
#include "conformance/events.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <poll.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

extern char** environ;

namespace holdfast::conformance {
namespace {

constexpr const char* as_child = "--worker";

[[noreturn]] void fail(const char* what) {
    throw std::system_error{errno, std::generic_category(), what};
}

[[nodiscard]] std::pair<int, int> make_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        fail("pipe2");
    return {ends[0], ends[1]};
}

void write_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const auto n = ::write(fd, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            fail("write");
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
}

[[nodiscard]] int in_one_number(int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

[[nodiscard]] std::map<std::string, job>& workers() {
    static std::map<std::string, job> all;
    return all;
}

} // namespace

child::child(const std::string& worker, const std::vector<std::string>& arguments) {
    std::signal(SIGPIPE, SIG_IGN); // a child that is gone is an error of say(), not our end
    const auto [their_in, to] = make_pipe();
    const auto [from, their_out] = make_pipe();

    std::vector<std::string> words{"conformance_tests", as_child, worker};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (auto& word : words)
        argv.push_back(word.data());
    argv.push_back(nullptr);

    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_adddup2(&files, their_in, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&files, their_out, STDOUT_FILENO);
    const int error = ::posix_spawn(&pid_, "/proc/self/exe", &files, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&files);
    ::close(their_in);
    ::close(their_out);
    to_ = to;
    from_ = from;
    if (error != 0) {
        reaped_ = true;
        throw std::system_error{error, std::generic_category(), "posix_spawn"};
    }
}

child::~child() { end(); }

void child::end() noexcept {
    if (pid_ == -1) // moved from
        return;
    kill();
    if (to_ >= 0)
        ::close(to_);
    ::close(from_);
}

child::child(child&& other) noexcept
    : pid_{std::exchange(other.pid_, -1)}, to_{other.to_}, from_{other.from_},
      reaped_{other.reaped_}, status_{other.status_}, heard_{std::move(other.heard_)} {}

child& child::operator=(child&& other) noexcept {
    if (this != &other) {
        end();
        pid_ = std::exchange(other.pid_, -1);
        to_ = other.to_;
        from_ = other.from_;
        reaped_ = other.reaped_;
        status_ = other.status_;
        heard_ = std::move(other.heard_);
    }
    return *this;
}

void child::say(const std::string& line) { write_all(to_, line + '\n'); }

void child::say_no_more() {
    ::close(to_);
    to_ = -1;
}

std::string child::hear() {
    const auto give_up = boot_clock::now() + patience;
    for (;;) {
        if (const auto end = heard_.find('\n'); end != std::string::npos) {
            auto line = heard_.substr(0, end);
            heard_.erase(0, end + 1);
            return line;
        }
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(give_up - boot_clock::now());
        pollfd ready{from_, POLLIN, 0};
        const int n = left > 0ms ? ::poll(&ready, 1, static_cast<int>(left.count())) : 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            throw std::runtime_error{"a child said nothing"};
        char bytes[4096];
        const auto got = ::read(from_, bytes, sizeof bytes);
        if (got <= 0)
            throw std::runtime_error{"a child ended without a word"};
        heard_.append(bytes, static_cast<std::size_t>(got));
    }
}

void child::kill() {
    if (reaped_)
        return;
    ::kill(pid_, SIGKILL);
    reap();
}

void child::stop() {
    ::kill(pid_, SIGSTOP);
    int status = 0;
    if (::waitpid(pid_, &status, WUNTRACED) != pid_ || !WIFSTOPPED(status))
        throw std::runtime_error{"a child did not stop"};
}

void child::resume() { ::kill(pid_, SIGCONT); }

int child::wait() {
    if (!reaped_) {
        status_ = wait_for_end(pid_);
        reaped_ = true;
    }
    return status_;
}

int child::reap() {
    if (!reaped_) {
        int status = 0;
        while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
        reaped_ = true;
        status_ = in_one_number(status);
    }
    return status_;
}

int wait_for_end(pid_t pid) {
    const int handle = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    if (handle < 0)
        fail("pidfd_open");
    pollfd ended{handle, POLLIN, 0};
    const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(patience);
    const int n = ::poll(&ended, 1, static_cast<int>(limit.count()));
    ::close(handle);
    if (n <= 0)
        throw std::runtime_error{"a child did not end"};
    int status = 0;
    if (::waitpid(pid, &status, 0) != pid)
        fail("waitpid");
    return in_one_number(status);
}

bool add_worker(const char* name, job what) {
    workers().emplace(name, what);
    return true;
}

int work_if_child(int argc, char** argv) {
    if (argc < 3 || std::strcmp(argv[1], as_child) != 0)
        return -1;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const auto found = workers().find(argv[2]);
    if (found == workers().end()) {
        std::fprintf(stderr, "there is no worker %s\n", argv[2]);
        return 70;
    }
    try {
        return found->second({argv + 3, argv + argc});
    } catch (const std::exception& e) {
        std::fprintf(stderr, "worker %s: %s\n", argv[2], e.what());
        return 70;
    }
}

void tell_parent(const std::string& line) {
    static std::mutex one_at_a_time;
    const std::lock_guard guard{one_at_a_time};
    write_all(STDOUT_FILENO, line + '\n');
}

} // namespace holdfast::conformance
