#pragma once

// Signals as messages: blocked in the front and in the guardian, read from a descriptor, and given
// back to the command exactly as we were given them.

#include <array>
#include <csignal>
#include <optional>
#include <sys/types.h>

namespace holdfast::cli {

/// What the command shall hear when somebody sends it to us.
inline constexpr std::array forwarded_signals{
    SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH, SIGCONT, SIGTSTP};

/// What makes us give up while we wait for the lock.
[[nodiscard]] constexpr bool ends_a_wait(int signal) noexcept {
    return signal == SIGHUP || signal == SIGINT || signal == SIGQUIT || signal == SIGTERM;
}

/// How signals stood when we were started: nohup ignores SIGHUP, a shell without job control
/// ignores SIGINT and SIGQUIT for what it starts in the background. The command must find them so.
class inherited_signals {
public:
    /// Takes signals over: those above and SIGCHLD are blocked from now on, in all threads to come.
    inherited_signals() noexcept;

    [[nodiscard]] bool ignored(int signal) const noexcept;

    /// Puts everything back. In the child, right before exec: calls only what is allowed there.
    void restore() const noexcept;

private:
    sigset_t blocked_{};
    sigset_t ignored_{};
    struct sigaction child_ {};
    struct sigaction pipe_ {};
    struct sigaction file_size_ {};
};

/// One signal that came, and from whom.
struct arrival {
    int signal = 0;
    pid_t sender = 0;
    /// The kernel sent it to everybody in the terminal's foreground: ^C, ^\, ^Z, a new window size.
    /// The command, being one of them, has it already.
    bool from_terminal = false;
};

/// Where arrivals are read from; closed with the object.
class signal_queue {
public:
    signal_queue();
    signal_queue(const signal_queue&) = delete;
    signal_queue& operator=(const signal_queue&) = delete;
    ~signal_queue();

    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

    /// The next one that is waiting; SIGCHLD comes like any other.
    [[nodiscard]] std::optional<arrival> next() const noexcept;

private:
    int descriptor_;
};

} // namespace holdfast::cli
