#include "signals.hpp"

#include <cerrno>
#include <sys/signalfd.h>
#include <system_error>
#include <unistd.h>

namespace holdfast::cli {

namespace {

sigset_t signals_we_read() noexcept {
    sigset_t ours;
    sigemptyset(&ours);
    for (const int signal : forwarded_signals) {
        sigaddset(&ours, signal);
    }
    sigaddset(&ours, SIGCHLD);
    return ours;
}

/// We belong to the command's job but are never the one to be stopped for using its terminal.
sigset_t signals_we_block() noexcept {
    sigset_t ours = signals_we_read();
    sigaddset(&ours, SIGTTIN);
    sigaddset(&ours, SIGTTOU);
    return ours;
}

bool is_ignored_now(int signal) noexcept {
    struct sigaction action {};
    return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

/// Whether the session leader alone gets it: a terminal that hangs up tells only its leader.
bool sent_to_leader_only(int signal) noexcept {
    return signal == SIGHUP && ::getsid(0) == ::getpid();
}

/// SIGALRM and the like also come from the kernel, but to one process: an alarm survives exec.
bool is_for_the_whole_foreground(int signal) noexcept {
    switch (signal) {
    case SIGHUP:
    case SIGINT:
    case SIGQUIT:
    case SIGTSTP:
    case SIGWINCH:
    case SIGCONT:
        return !sent_to_leader_only(signal);
    default:
        return false;
    }
}

} // namespace

inherited_signals::inherited_signals() noexcept {
    sigemptyset(&ignored_);
    for (const int signal : forwarded_signals) {
        if (is_ignored_now(signal)) {
            sigaddset(&ignored_, signal);
        }
    }
    const sigset_t ours = signals_we_block();
    ::pthread_sigmask(SIG_BLOCK, &ours, &blocked_);

    struct sigaction standard {};
    standard.sa_handler = SIG_DFL; // where SIGCHLD is ignored, wait() never tells a status
    ::sigaction(SIGCHLD, &standard, &child_);
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGPIPE, &ignore, &pipe_);
    ::sigaction(SIGXFSZ, &ignore, &file_size_); // a limit on files is an error like a full disk
}

bool inherited_signals::ignored(int signal) const noexcept {
    return sigismember(&ignored_, signal) == 1;
}

void inherited_signals::restore() const noexcept {
    ::sigaction(SIGCHLD, &child_, nullptr);
    ::sigaction(SIGPIPE, &pipe_, nullptr);
    ::sigaction(SIGXFSZ, &file_size_, nullptr);
    ::sigprocmask(SIG_SETMASK, &blocked_, nullptr);
}

signal_queue::signal_queue() : descriptor_{-1} {
    const sigset_t ours = signals_we_read();
    descriptor_ = ::signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
    if (descriptor_ < 0) {
        throw std::system_error{errno, std::generic_category(), "cannot listen to signals"};
    }
}

signal_queue::~signal_queue() { ::close(descriptor_); }

std::optional<arrival> signal_queue::next() const noexcept {
    signalfd_siginfo info{};
    if (::read(descriptor_, &info, sizeof info) != sizeof info) {
        return std::nullopt;
    }
    const int signal = static_cast<int>(info.ssi_signo);
    return arrival{.signal = signal,
                   .sender = static_cast<pid_t>(info.ssi_pid),
                   .from_terminal =
                       info.ssi_code == SI_KERNEL && is_for_the_whole_foreground(signal)};
}

} // namespace holdfast::cli
