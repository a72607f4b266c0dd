#pragma once

// Real processes for the tests, with everything about them that a test waits for in descriptors.
//
//   test ── stdin ──▶ holdfast ─▶ guardian ─▶ command ─▶ its children
//        ◀─ stdout, stderr ─┴────────────────────┴──────────┘
//        ◀─ descriptor 3: only the command and its children keep it ("the tree"): the front and the
//           guardian let go of it, so end of file means that nobody of the command is left.

#include <holdfast/clock.hpp>

#include <chrono>
#include <optional>
#include <poll.h>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace holdfast::cli_tests {

/// A descriptor that is closed with its owner.
class descriptor {
public:
    descriptor() noexcept = default;
    explicit descriptor(int number) noexcept : number_{number} {}
    descriptor(descriptor&& other) noexcept : number_{std::exchange(other.number_, -1)} {}
    descriptor& operator=(descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~descriptor() { close(); }

    void close() noexcept;
    [[nodiscard]] int number() const noexcept { return number_; }

private:
    int number_ = -1;
};

/// Nothing in these tests waits longer than this, whatever goes wrong.
inline constexpr auto patience = std::chrono::seconds{30};

/// Reads lines, or all, and never waits longer than `patience`.
class reader {
public:
    reader() = default;
    explicit reader(descriptor from) noexcept : from_{std::move(from)} {}

    /// Without its end; nothing at end of file. Throws when patience is at an end.
    [[nodiscard]] std::optional<std::string> line();

    /// Whether line() would return at once, now or within this time.
    [[nodiscard]] bool has_line_within(std::chrono::milliseconds);

    /// Until end of file.
    [[nodiscard]] std::string all();

    /// Until what was read so far contains it; false at end of file.
    [[nodiscard]] bool until(const std::string& text);

    /// Whether end of file comes within this time.
    [[nodiscard]] bool ends_within(std::chrono::milliseconds);

    [[nodiscard]] const std::string& seen() const noexcept { return seen_; }

private:
    enum class more { yes, end, not_yet };
    more read_some(instant give_up_at);

    descriptor from_;
    std::string buffer_; // read, but not yet given out as a line
    std::string seen_;   // everything that was ever read
};

/// How a process ended, and what it said.
struct outcome {
    int code = -1; ///< exit status, or 128 + signal, as a shell would put it
    int signal = 0;
    std::string out;
    std::string err;
};

struct start_options {
    std::vector<std::string> environment; ///< NAME=value; added to ours
    std::optional<std::string> input; ///< what stdin gives, then end of file; else it stays open
};

class program {
public:
    /// argv[0] is looked up in PATH. It gets a process group of its own.
    explicit program(const std::vector<std::string>& arguments, const start_options& = {});
    program(program&&) noexcept = default;
    program& operator=(program&&) noexcept = default;
    program(const program&) = delete;
    ~program(); ///< killed, if it still runs

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    void signal(int) const;

    /// Waits for its end and reads all that is left of its output.
    [[nodiscard]] outcome end();

    /// Waits for its end alone; its children may still keep the output open.
    [[nodiscard]] int exit_code();

    /// Whether it is still there when this time is over.
    [[nodiscard]] bool runs_for(std::chrono::milliseconds) const;

    void write(const std::string& text) const;
    void close_input() { input_.close(); }

    reader out;
    reader err;
    reader tree; ///< ends when the command and all its children are gone

private:
    pid_t pid_ = -1;
    descriptor handle_; // a pidfd: readable when it has ended
    descriptor input_;
    std::optional<int> status_;
};

/// Starts it and waits for its end.
[[nodiscard]] outcome call(const std::vector<std::string>& arguments, const start_options& = {});

/// Looks again and again; for what nobody tells us of, such as the state of somebody else's
/// process.
template <class Condition>
[[nodiscard]] bool comes_true(std::chrono::milliseconds within, Condition&& condition) {
    const auto give_up_at = boot_clock::now() + within;
    while (!condition()) {
        if (boot_clock::now() >= give_up_at) {
            return false;
        }
        ::poll(nullptr, 0, 2);
    }
    return true;
}

/// Waits until the process does not run any more: gone, or only its status is left.
[[nodiscard]] bool is_gone_within(pid_t, std::chrono::milliseconds);

/// Waits until its state in /proc is this one: T for stopped, S for sleeping.
[[nodiscard]] bool reaches_state(pid_t, char state);

/// The guardian of a `holdfast run`: the child of the front.
[[nodiscard]] pid_t guardian_of(const program& front);

/// The one child of a process; waits until there is one.
[[nodiscard]] pid_t child_of(pid_t);

} // namespace holdfast::cli_tests
