#include "command.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <string_view>
#include <sys/prctl.h>
#include <system_error>
#include <unistd.h>

namespace holdfast::cli {

namespace {

struct pipe_ends {
    int read = -1;
    int write = -1;
};

pipe_ends make_pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        throw std::system_error{errno, std::generic_category(), "cannot start the command"};
    }
    return {ends[0], ends[1]};
}

std::vector<std::string> environment_for(const command_setting& setting) {
    std::vector<std::string> variables;
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
        const std::string_view text{*variable};
        if (!text.starts_with("HOLDFAST_NAME=") && !text.starts_with("HOLDFAST_FENCE=")) {
            variables.emplace_back(text);
        }
    }
    variables.push_back("HOLDFAST_NAME=" + setting.lock_name);
    if (setting.fence) {
        variables.push_back("HOLDFAST_FENCE=" + std::to_string(setting.fence.value()));
    }
    return variables;
}

/// As exec wants them. Valid as long as `strings` is.
std::vector<char*> pointers_to(std::vector<std::string>& strings) {
    std::vector<char*> pointers;
    pointers.reserve(strings.size() + 1);
    for (auto& text : strings) {
        pointers.push_back(text.data());
    }
    pointers.push_back(nullptr);
    return pointers;
}

/// What the child needs, made before fork: after it, a child of several threads may not allocate.
struct prepared {
    char* const* arguments;
    char* const* environment;
    const inherited_signals* signals;
    pid_t guardian;
    int gate;
    int report;
};

[[noreturn]] void become_the_command(const prepared& child) noexcept {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != child.guardian) { // it died before the line above
        ::_exit(1);
    }
    char opened = 0;
    if (::read(child.gate, &opened, 1) != 1) {
        ::_exit(1);
    }
    child.signals->restore();
    ::execvpe(child.arguments[0], child.arguments, child.environment);
    const int why = errno;
    [[maybe_unused]] const auto told = ::write(child.report, &why, sizeof why);
    ::_exit(1);
}

} // namespace

command::command(const command_setting& setting, const inherited_signals& signals) {
    auto arguments = setting.arguments;
    auto environment = environment_for(setting);
    const auto argument_pointers = pointers_to(arguments);
    const auto environment_pointers = pointers_to(environment);
    const auto gate = make_pipe();
    const auto report = make_pipe();
    const prepared child{.arguments = argument_pointers.data(),
                         .environment = environment_pointers.data(),
                         .signals = &signals,
                         .guardian = ::getpid(),
                         .gate = gate.read,
                         .report = report.write};
    pid_ = ::fork();
    if (pid_ == 0) {
        ::close(gate.write); // or its own copy would keep the gate from ever closing
        become_the_command(child);
    }
    const int why = errno;
    ::close(gate.read);
    ::close(report.write);
    gate_ = gate.write;
    report_ = report.read;
    if (pid_ < 0) {
        throw std::system_error{why, std::generic_category(), "cannot start the command"};
    }
}

command::~command() {
    ::close(gate_);
    ::close(report_);
}

int command::open_gate() noexcept {
    [[maybe_unused]] const auto opened = ::write(gate_, "", 1);
    int why = 0;
    ssize_t size = 0;
    do {
        size = ::read(report_, &why, sizeof why);
    } while (size < 0 && errno == EINTR);
    return size == sizeof why ? why : 0;
}

} // namespace holdfast::cli
