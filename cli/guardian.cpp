// The guardian holds the lock, and lets nobody below it outlive the right to work.
//
//   WAITING ─ granted ─▶ RUNNING ─ command ended, nobody left ─────▶ release, tell its code, end
//      │                  │    └── command ended, others still run ▶ tell its code; LINGERING
//      │ signal, or       │                                             │      │
//      │ front gone       │ lease about to end                          │      │ last one ended
//      ▼                  ▼                                             │      ▼
//   withdraw, end      STOPPING: TERM, at half time KILL ◀──────────────┘   release, end
//                         │                          lease about to end
//                         │ nobody left
//                         ▼
//                      release, tell 76, end
//
//   Front gone while RUNNING or STOPPING: KILL everybody, then release, end.
//
// Invariant: the lock is released only when nobody is left below (has_descendants() is false), and
// nobody is left below when the deadline comes. The kernel stands behind both: at the deadline the
// dead-man timer kills the guardian, even a stopped one, and its death kills the command.

#include "guardian.hpp"
#include "acquisition.hpp"
#include "command.hpp"
#include "complaint.hpp"
#include "descriptors.hpp"
#include "echo_filter.hpp"
#include "exit_codes.hpp"
#include "process_tree.hpp"
#include "terminal.hpp"
#include "text.hpp"
#include "waiting_line.hpp"

#include <holdfast/client.hpp>
#include <holdfast/multi_lock.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <optional>
#include <poll.h>
#include <stop_token>
#include <sys/wait.h>
#include <unistd.h>

namespace holdfast::cli {

namespace {

using namespace std::chrono_literals;

/// Who has waited long enough does not wait for an engine that is away, too.
constexpr auto time_to_withdraw = 300ms;

enum class phase { waiting, running, lingering, stopping };

client open_for(const run_options& options) {
    client_options ours;
    ours.purpose = shortened(printable(without_password(command_line(options.command))), 200);
    ours.children_keep_locks = true;
    auto engine = open(options.url, ours);
    if (engine.capabilities().reach == reach::process) {
        throw usage_error{"these locks hold only within one process, so nobody would be kept out; "
                          "choose another engine"};
    }
    return engine;
}

int exit_code_from(int status) noexcept {
    return WIFSIGNALED(status) ? exit_code::died_of(WTERMSIG(status)) : WEXITSTATUS(status);
}

int milliseconds_until(instant when) noexcept {
    if (when == never) {
        return -1;
    }
    const auto left = std::clamp<duration>(when - boot_clock::now(), 0ns, 1h);
    return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
}

class guardian {
public:
    guardian(const guardian_setting& setting, tether& to_front)
        : options_{setting.options}, setting_{setting}, front_{to_front}, client_{open_for(
                                                                              setting.options)} {}

    [[noreturn]] void stand() {
        try {
            wait_until_granted();
            start_command();
            watch_over_command();
        } catch (const std::exception& problem) {
            fail(problem);
        }
    }

private:
    void wait_until_granted();
    void take_lease(acquisition&);
    void start_command();
    void pass_on_at_the_gate();
    [[noreturn]] void watch_over_command();

    void sleep(int until_also, int milliseconds);
    void hear_front();
    void hear_signals();
    void handle(const arrival&, way);
    void send_to_command(int signal) const;

    void watch_children();
    void command_changed(int status);
    void stop_front() noexcept;
    void continue_front() noexcept;
    void signal_front(int signal) const noexcept;
    void tell_front(word, int code) noexcept;
    void command_over();
    void lease_is_ending();
    void stop_everybody_by(instant);
    [[nodiscard]] int next_tick() const noexcept;

    [[noreturn]] void withdraw(int code);
    [[noreturn]] void kill_everybody_and_end(int code);
    [[noreturn]] void end(int code);
    [[noreturn]] void fail(const std::exception&);
    int given_back(int code);

    const run_options& options_;
    const guardian_setting& setting_;
    tether& front_;
    signal_queue signals_;
    client client_;
    std::optional<waiting_line> line_;
    std::optional<multi_lease> lease_;
    std::optional<command> command_;
    wakeup lease_ending_;
    echo_filter echoes_;
    phase phase_ = phase::waiting;
    bool front_stopped_ = false;        // by us, because the command was
    bool job_paused_ = false;           // ^Z while waiting: the command starts when the job goes on
    std::optional<int> command_status_; // once it has ended
    instant kill_at_ = never;           // while stopping
};

// -------------------------------------------------------------------------------------- WAITING

void guardian::wait_until_granted() {
    if (can_move_cursor(STDERR_FILENO) && options_.wait != duration::zero()) {
        line_.emplace(client_, options_.name);
    }
    acquisition asking{client_, options_};
    bool over = false;
    while (!over || job_paused_) {
        sleep(over ? -1 : asking.descriptor(), -1);
        over = over || asking.is_over();
        hear_front();
        hear_signals();
    }
    line_.reset();
    take_lease(asking);
}

void guardian::take_lease(acquisition& asking) {
    lease_ = asking.take();
    if (!lease_) {
        if (is_terminal(STDERR_FILENO)) { // in scripts, like flock, the code says it all
            say("'" + options_.name + "' is held by somebody else" +
                (options_.and_names.empty() ? "" : ", or one of the locks that go with it"));
        }
        withdraw(options_.contended_code);
    }
    setting_.board.write(lease_->deadline());
}

void guardian::start_command() {
    hear_signals(); // the last that can end the wait
    command_.emplace(command_setting{.arguments = options_.command,
                                     .lock_name = options_.name,
                                     .fence = lease_->fence(options_.name)},
                     setting_.inherited);
    pass_on_at_the_gate();
    phase_ = phase::running;
    if (const int why = command_->open_gate(); why != 0) {
        say("cannot run '" + options_.command.front() + "': " + std::strerror(why));
        const int code = why == ENOENT ? exit_code::not_found : exit_code::not_executable;
        kill_everybody_and_end(code); // the child that could not exec is ending; this awaits it
    }
    let_go(setting_.descriptors);
    front_.say({.what = word::started});
}

/// The terminal's signals too: those sent before the fork did not reach the command, and those sent
/// after it are still pending there and merge with ours.
void guardian::pass_on_at_the_gate() {
    while (const auto came = signals_.next()) {
        if (came->signal != SIGCHLD) {
            send_to_command(came->signal);
        }
    }
}

// ------------------------------------------------------------------- RUNNING, LINGERING, STOPPING

void guardian::watch_over_command() {
    const std::stop_callback when_ending{lease_->stop_token(), [this] { lease_ending_.raise(); }};
    lease_->on_wanted([this] { say("somebody asks for the lock '" + options_.name + "'"); });
    for (;;) { // looks first: the command may have ended before we came here
        hear_front();
        hear_signals();
        watch_children();
        if (lease_ending_.lower()) {
            lease_is_ending();
        }
        if (boot_clock::now() >= kill_at_) {
            kill_everybody_and_end(exit_code::lost);
        }
        setting_.board.write(lease_->deadline());
        sleep(lease_ending_.descriptor(), next_tick());
    }
}

/// The board must be newer than a third of a ttl; while stopping, killing comes first.
int guardian::next_tick() const noexcept {
    return milliseconds_until(std::min(kill_at_, boot_clock::now() + options_.ttl / 3));
}

void guardian::sleep(int until_also, int milliseconds) {
    std::array events{pollfd{.fd = front_.descriptor(), .events = POLLIN, .revents = 0},
                      pollfd{.fd = signals_.descriptor(), .events = POLLIN, .revents = 0},
                      pollfd{.fd = until_also, .events = POLLIN, .revents = 0}};
    ::poll(events.data(), events.size(), milliseconds);
}

void guardian::hear_front() {
    while (front_.descriptor() >= 0) {
        const auto heard = front_.hear();
        switch (heard.what) {
        case word::nothing:
            return;
        case word::signalled:
            handle({.signal = heard.value, .sender = heard.who}, way::front);
            break;
        case word::paused:
        case word::resumed:
            job_paused_ = heard.what == word::paused;
            break;
        default: // the front was killed: nobody answers for the command any more
            if (phase_ == phase::waiting) {
                withdraw(exit_code::internal);
            }
            kill_everybody_and_end(exit_code::internal);
        }
    }
}

void guardian::hear_signals() {
    while (const auto came = signals_.next()) {
        if (came->signal != SIGCHLD) {
            handle(*came, way::guardian);
        }
    }
}

void guardian::handle(const arrival& came, way by) {
    if (phase_ == phase::waiting) {
        if (ends_a_wait(came.signal) && !setting_.inherited.ignored(came.signal)) {
            withdraw(exit_code::died_of(came.signal));
        }
        return;
    }
    // What the command did to its own group has reached it, and so has what the terminal did.
    if (came.from_terminal || echoes_.is_echo(came, by, boot_clock::now()) ||
        belongs_to(::getpid(), came.sender)) {
        return;
    }
    if (phase_ == phase::lingering) {
        signal_descendants(came.signal); // the command is gone; this is for those it left running
    } else if (came.signal != SIGCONT || is_stopped(command_->pid())) {
        send_to_command(came.signal);
    }
}

void guardian::send_to_command(int signal) const {
    if (!command_status_) { // not reaped, so the number is still its own
        ::kill(command_->pid(), signal);
    }
}

void guardian::watch_children() {
    int status = 0;
    for (;;) {
        const pid_t who = ::waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED);
        if (who <= 0) {
            break;
        }
        if (who == command_->pid()) {
            command_changed(status);
        }
    }
    if (command_status_) {
        command_over();
    }
}

void guardian::command_changed(int status) {
    if (WIFSTOPPED(status)) {
        stop_front();
    } else if (WIFCONTINUED(status)) {
        continue_front();
    } else {
        command_status_ = status;
    }
}

void guardian::stop_front() noexcept {
    signal_front(SIGSTOP);
    front_stopped_ = true;
}

void guardian::continue_front() noexcept {
    signal_front(SIGCONT);
    front_stopped_ = false;
}

void guardian::signal_front(int signal) const noexcept {
    if (::getppid() == setting_.front) { // while it lives
        ::kill(setting_.front, signal);
    }
}

/// The last it hears from us. If it is stopped, it must wake up to end.
void guardian::tell_front(word what, int code) noexcept {
    front_.say({.what = what, .value = code});
    if (front_stopped_ || job_paused_) {
        continue_front();
    }
}

void guardian::command_over() {
    const bool all_gone = !has_descendants();
    if (phase_ == phase::stopping) {
        if (all_gone) {
            end(exit_code::lost);
        }
        return;
    }
    const int code = exit_code_from(*command_status_);
    if (all_gone) {
        end(code);
    }
    if (phase_ == phase::running) {
        tell_front(word::stays, code);
        front_.cut(); // it ends now, and that is no reason to kill anybody
        silence(STDERR_FILENO);
        phase_ = phase::lingering;
    }
}

void guardian::lease_is_ending() {
    switch (options_.on_lost) {
    case on_lost::ignore:
        say("the lock '" + options_.name + "' is being lost; the command runs on");
        break;
    case on_lost::term:
        signal_descendants(SIGTERM);
        signal_descendants(SIGCONT); // the stopped ones too shall hear it
        stop_everybody_by(boot_clock::now() + lease_->remaining() / 2);
        break;
    case on_lost::kill:
        stop_everybody_by(boot_clock::now());
        break;
    }
}

void guardian::stop_everybody_by(instant when) {
    say("lost the lock '" + options_.name + "'; stopping the command");
    phase_ = phase::stopping;
    kill_at_ = when;
}

// --------------------------------------------------------------------------------------- the ends

void guardian::withdraw(int code) {
    if (line_) {
        line_->hush();
    }
    // Before the line's thread is awaited: it may be asking the engine just now.
    client_.close(time_to_withdraw);
    line_.reset();
    tell_front(word::ended, code);
    ::_exit(code);
}

void guardian::kill_everybody_and_end(int code) {
    // However long it takes: as long as somebody lives, the lock must not be given back. If it
    // takes longer than we hold it, the dead-man timer ends us and says so.
    kill_descendants(never, [](const reaped&) {});
    end(code);
}

/// Whatever it was: nobody is left behind, and nothing is held.
void guardian::fail(const std::exception& failed) {
    const auto problem = complaint_about(failed);
    const bool contended = problem.exit_code == exit_code::contended;
    const int code = contended ? options_.contended_code : problem.exit_code;
    line_.reset();
    say(problem.sentence);
    kill_descendants(never, [](const reaped&) {});
    if (lease_ && *lease_) {
        lease_->release();
    }
    client_.close(time_to_withdraw);
    tell_front(word::ended, code);
    ::_exit(code);
}

void guardian::end(int code) {
    code = given_back(code);
    client_.close();
    tell_front(word::ended, code);
    ::_exit(code);
}

/// The code, unless the lock turns out to have been lost behind our back.
int guardian::given_back(int code) {
    const bool lost = lease_->release() == release_result::lost;
    if (!lost || options_.on_lost == on_lost::ignore || code == exit_code::lost) {
        return code;
    }
    say("the lock '" + options_.name + "' was lost before the command ended");
    return exit_code::lost;
}

} // namespace

void stand_guard(const guardian_setting& setting, tether to_front) noexcept {
    adopt_orphans();
    complaint problem;
    try {
        guardian{setting, to_front}.stand();
    } catch (const std::exception& failed) { // the engine could not even be opened
        problem = complaint_about(failed);
    }
    say(problem.sentence);
    to_front.say({.what = word::ended, .value = problem.exit_code});
    ::_exit(problem.exit_code);
}

} // namespace holdfast::cli
