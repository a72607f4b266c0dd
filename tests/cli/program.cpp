#include "program.hpp"
#include "cli/process_tree.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace holdfast::cli_tests {

namespace {

using namespace std::chrono_literals;

constexpr int tree_descriptor = 3;

struct pipe_ends {
    descriptor read;
    descriptor write;
};

pipe_ends make_pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        throw std::system_error{errno, std::generic_category(), "pipe2"};
    }
    return {descriptor{ends[0]}, descriptor{ends[1]}};
}

int milliseconds_until(instant when) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(when - boot_clock::now());
    return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

bool readable_by(int number, instant give_up_at) {
    pollfd event{.fd = number, .events = POLLIN, .revents = 0};
    return ::poll(&event, 1, milliseconds_until(give_up_at)) == 1;
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
    std::vector<char*> pointers;
    pointers.reserve(strings.size() + 1);
    for (auto& text : strings) {
        pointers.push_back(text.data());
    }
    pointers.push_back(nullptr);
    return pointers;
}

std::vector<std::string> environment_with(const std::vector<std::string>& added) {
    auto all = added;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const std::string_view text{*variable};
        const auto name = text.substr(0, text.find('=') + 1);
        if (std::none_of(added.begin(), added.end(), [&](const std::string& other) {
                return other.starts_with(name);
            })) {
            all.emplace_back(text);
        }
    }
    return all;
}

/// Signals as a fresh login would have them, whatever the test runner did to ours.
class spawn_attributes {
public:
    spawn_attributes() {
        ::posix_spawnattr_init(&attributes_);
        sigset_t all;
        sigfillset(&all);
        sigset_t none;
        sigemptyset(&none);
        ::posix_spawnattr_setsigdefault(&attributes_, &all);
        ::posix_spawnattr_setsigmask(&attributes_, &none);
        ::posix_spawnattr_setpgroup(&attributes_, 0);
        set_flags(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    }
    ~spawn_attributes() { ::posix_spawnattr_destroy(&attributes_); }
    spawn_attributes(const spawn_attributes&) = delete;
    spawn_attributes& operator=(const spawn_attributes&) = delete;

    [[nodiscard]] const posix_spawnattr_t* get() const noexcept { return &attributes_; }

private:
    void set_flags(int flags) {
        ::posix_spawnattr_setflags(&attributes_, static_cast<short>(flags));
    }
    posix_spawnattr_t attributes_{};
};

class seating {
public:
    seating() { ::posix_spawn_file_actions_init(&actions_); }
    ~seating() { ::posix_spawn_file_actions_destroy(&actions_); }
    seating(const seating&) = delete;
    seating& operator=(const seating&) = delete;

    seating& put(const descriptor& what, int as) {
        ::posix_spawn_file_actions_adddup2(&actions_, what.number(), as);
        return *this;
    }
    [[nodiscard]] const posix_spawn_file_actions_t* get() const noexcept { return &actions_; }

private:
    posix_spawn_file_actions_t actions_{};
};

} // namespace

// ---------------------------------------------------------------------------- descriptor, reader

void descriptor::close() noexcept {
    if (number_ >= 0) {
        ::close(std::exchange(number_, -1));
    }
}

reader::more reader::read_some(instant give_up_at) {
    if (!readable_by(from_.number(), give_up_at)) {
        return more::not_yet;
    }
    std::array<char, 4096> bytes{};
    const auto size = ::read(from_.number(), bytes.data(), bytes.size());
    if (size <= 0) { // a terminal whose other side is closed says EIO
        return more::end;
    }
    buffer_.append(bytes.data(), static_cast<std::size_t>(size));
    seen_.append(bytes.data(), static_cast<std::size_t>(size));
    return more::yes;
}

std::optional<std::string> reader::line() {
    const auto give_up_at = boot_clock::now() + patience;
    for (;;) {
        if (const auto end = buffer_.find('\n'); end != std::string::npos) {
            auto first = buffer_.substr(0, end);
            buffer_.erase(0, end + 1);
            return first;
        }
        switch (read_some(give_up_at)) {
        case more::yes:
            break;
        case more::end:
            return buffer_.empty() ? std::nullopt : std::optional{std::exchange(buffer_, {})};
        case more::not_yet:
            throw std::runtime_error{"no line came; so far: " + seen_};
        }
    }
}

bool reader::has_line_within(std::chrono::milliseconds time) {
    const auto give_up_at = boot_clock::now() + time;
    while (buffer_.find('\n') == std::string::npos) {
        const auto got = read_some(give_up_at);
        if (got != more::yes) {
            return got == more::end;
        }
    }
    return true;
}

std::string reader::all() {
    const auto give_up_at = boot_clock::now() + patience;
    for (;;) {
        switch (read_some(give_up_at)) {
        case more::yes:
            break;
        case more::end:
            return std::exchange(buffer_, {});
        case more::not_yet:
            throw std::runtime_error{"no end of file came; so far: " + seen_};
        }
    }
}

bool reader::until(const std::string& text) {
    const auto give_up_at = boot_clock::now() + patience;
    while (seen_.find(text) == std::string::npos) {
        switch (read_some(give_up_at)) {
        case more::yes:
            break;
        case more::end:
            return false;
        case more::not_yet:
            throw std::runtime_error{"'" + text + "' did not come; so far: " + seen_};
        }
    }
    return true;
}

bool reader::ends_within(std::chrono::milliseconds time) {
    const auto give_up_at = boot_clock::now() + time;
    for (;;) {
        const auto got = read_some(give_up_at);
        if (got != more::yes) {
            return got == more::end;
        }
    }
}

// ---------------------------------------------------------------------------------------- program

program::program(const std::vector<std::string>& arguments, const start_options& options) {
    auto input = make_pipe();
    auto output = make_pipe();
    auto errors = make_pipe();
    auto everybody = make_pipe();
    seating seats;
    seats.put(input.read, STDIN_FILENO)
        .put(output.write, STDOUT_FILENO)
        .put(errors.write, STDERR_FILENO)
        .put(everybody.write, tree_descriptor);
    const spawn_attributes attributes;

    auto words = arguments;
    auto variables = environment_with(options.environment);
    const int failed = ::posix_spawnp(&pid_,
                                      words.front().c_str(),
                                      seats.get(),
                                      attributes.get(),
                                      pointers_to(words).data(),
                                      pointers_to(variables).data());
    if (failed != 0) {
        throw std::system_error{failed, std::generic_category(), words.front()};
    }
    handle_ = descriptor{static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0))};
    input_ = std::move(input.write);
    out = reader{std::move(output.read)};
    err = reader{std::move(errors.read)};
    tree = reader{std::move(everybody.read)};
    if (options.input) {
        write(*options.input);
        close_input();
    }
}

program::~program() {
    if (handle_.number() >= 0 && !status_) {
        ::syscall(SYS_pidfd_send_signal, handle_.number(), SIGKILL, nullptr, 0);
        ::waitpid(pid_, nullptr, 0);
    }
}

void program::signal(int number) const {
    ::syscall(SYS_pidfd_send_signal, handle_.number(), number, nullptr, 0);
}

int program::exit_code() {
    if (!status_) {
        if (!readable_by(handle_.number(), boot_clock::now() + patience)) {
            throw std::runtime_error{"it did not end; stdout so far: " + out.seen()};
        }
        int status = 0;
        ::waitpid(pid_, &status, 0);
        status_ = status;
    }
    return WIFSIGNALED(*status_) ? 128 + WTERMSIG(*status_) : WEXITSTATUS(*status_);
}

outcome program::end() {
    outcome how;
    how.out = out.all();
    how.err = err.all();
    how.code = exit_code();
    how.signal = WIFSIGNALED(*status_) ? WTERMSIG(*status_) : 0;
    return how;
}

bool program::runs_for(std::chrono::milliseconds time) const {
    return !readable_by(handle_.number(), boot_clock::now() + time);
}

void program::write(const std::string& text) const {
    std::string_view left{text};
    while (!left.empty()) {
        const auto written = ::write(input_.number(), left.data(), left.size());
        if (written < 0) {
            throw std::system_error{errno, std::generic_category(), "stdin of the program"};
        }
        left.remove_prefix(static_cast<std::size_t>(written));
    }
}

outcome call(const std::vector<std::string>& arguments, const start_options& options) {
    auto with_input = options;
    with_input.input = options.input.value_or("");
    return program{arguments, with_input}.end();
}

// ------------------------------------------------------------------------------------- processes

bool is_gone_within(pid_t pid, std::chrono::milliseconds time) {
    return comes_true(time, [pid] {
        const auto seen = cli::look_at(pid);
        return !seen || seen->state == 'Z' || seen->state == 'X';
    });
}

bool reaches_state(pid_t pid, char state) {
    return comes_true(patience, [=] {
        const auto seen = cli::look_at(pid);
        return seen && seen->state == state;
    });
}

pid_t child_of(pid_t parent) {
    pid_t found = 0;
    const bool came = comes_true(patience, [&] {
        for (const auto& one : cli::descendants_of(parent)) {
            found = one.parent == parent && one.state != 'Z' ? one.pid : found;
        }
        return found != 0;
    });
    if (!came) {
        throw std::runtime_error{"process " + std::to_string(parent) + " has no child"};
    }
    return found;
}

pid_t guardian_of(const program& front) { return child_of(front.pid()); }

} // namespace holdfast::cli_tests
