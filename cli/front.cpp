// The front waits for two things: what the guardian says, and signals.
//
//   signal from                        goes
//   the terminal (^C, ^Z, size)        nowhere: the command is in the foreground too and has it
//   somebody's kill                    to the guardian, which sends it to the command
//   the guardian (CONT)                nowhere: it only wakes us after the command went on
//
// When the command is stopped, the guardian stops us too (STOP) and the shell sees a stopped job;
// when the command goes on, so do we. SIGTSTP itself is blocked here: one ^Z stops us once. While
// there is no command yet, we are the job and stop ourselves.

#include "front.hpp"
#include "complaint.hpp"
#include "exit_codes.hpp"
#include "process_tree.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <poll.h>
#include <sys/wait.h>

namespace holdfast::cli {

namespace {

/// How long we look after what a killed guardian left behind. Only what may not be killed by us
/// (it runs as somebody else) or cannot die (it hangs in the kernel) is still there then.
constexpr auto cleaning_time = std::chrono::seconds{5};

int status_of_dead(pid_t child) noexcept {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

} // namespace

front::front(pid_t guardian,
             tether to_guardian,
             const inherited_signals& inherited,
             const deadline_board& board)
    : guardian_{guardian}, tether_{std::move(to_guardian)}, inherited_{inherited}, board_{board} {}

int front::wait_for_the_end() {
    for (;;) {
        std::array events{pollfd{.fd = tether_.descriptor(), .events = POLLIN, .revents = 0},
                          pollfd{.fd = signals_.descriptor(), .events = POLLIN, .revents = 0}};
        ::poll(events.data(), events.size(), -1);
        if (const auto code = hear_guardian()) {
            return *code;
        }
        hear_signals();
    }
}

std::optional<int> front::hear_guardian() {
    for (;;) {
        const auto heard = tether_.hear();
        switch (heard.what) {
        case word::nothing:
            return std::nullopt;
        case word::started:
            command_started_ = true;
            break;
        case word::ended:
            status_of_dead(guardian_); // so that nothing of ours is left when we are gone
            return heard.value;
        case word::stays:
            return heard.value;
        default:
            return after_the_guardian();
        }
    }
}

void front::hear_signals() {
    while (const auto came = signals_.next()) {
        if (came->signal == SIGTSTP && !command_started_) {
            stop_while_waiting();
        } else if (came->signal != SIGCHLD && !came->from_terminal && came->sender != guardian_) {
            pass_on(*came);
        }
    }
}

void front::pass_on(const arrival& came) {
    tether_.say({.what = word::signalled, .value = came.signal, .who = came.sender});
}

void front::stop_while_waiting() {
    if (inherited_.ignored(SIGTSTP)) {
        return;
    }
    tether_.say({.what = word::paused});
    ::raise(SIGSTOP);
    tether_.say({.what = word::resumed});
}

/// The guardian died without a word; the command dies with it, the rest has come to us.
int front::after_the_guardian() {
    status_of_dead(guardian_);
    const bool lost = board_.has_passed();
    kill_descendants(boot_clock::now() + cleaning_time, [](const reaped&) {});
    if (lost) {
        say("the lock was lost while its guardian could not run; the command was killed");
        return exit_code::lost;
    }
    say("the guardian of the lock was killed, and the command with it");
    return exit_code::internal;
}

} // namespace holdfast::cli
