#pragma once

// Real processes: the test program started again, to do one worker's job.
//
//   parent                                     child: argv = --worker NAME arguments…
//     say("line")  ───────────────────────────▶ stdin
//     hear()       ◀─────────────────────────── stdout, one line at a time
//
// A child never outlives its test: it is killed by its number, or by the kernel with its parent.

#include <holdfast/clock.hpp>

#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace holdfast::conformance {

class child {
public:
    explicit child(const std::string& worker, const std::vector<std::string>& arguments = {});
    ~child();
    child(child&&) noexcept;
    child& operator=(child&&) noexcept;

    void say(const std::string& line);
    void say_no_more(); ///< the end of its input, and that of its own children

    /// The next line; throws if there is none, because it has ended or is stuck.
    [[nodiscard]] std::string hear();

    void kill();   ///< -9, and waits until it is gone
    void stop();   ///< SIGSTOP, and waits until it stands still
    void resume(); ///< SIGCONT

    /// Waits for its end: the exit status, or minus the signal that ended it.
    [[nodiscard]] int wait();

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

private:
    int reap();
    void end() noexcept;

    pid_t pid_ = -1;
    int to_ = -1, from_ = -1;
    bool reaped_ = false;
    int status_ = 0;
    std::string heard_;
};

/// Waits for the end of any child of ours: its exit status, or minus the signal that ended it.
[[nodiscard]] int wait_for_end(pid_t);

/// What a child does; gets its arguments, returns its exit status.
using job = int (*)(const std::vector<std::string>& arguments);
bool add_worker(const char* name, job);

/// Does the worker's job if this process was started as a child; else -1.
[[nodiscard]] int work_if_child(int argc, char** argv);

/// A line to the parent, whole, from any thread of a child.
void tell_parent(const std::string& line);

} // namespace holdfast::conformance

#define HOLDFAST_WORKER(name)                                                                      \
    int name(const std::vector<std::string>& arguments);                                           \
    [[maybe_unused]] const bool name##_is_added = add_worker(#name, name);                         \
    int name([[maybe_unused]] const std::vector<std::string>& arguments)
