#pragma once

// The one line that a human sees while waiting on a terminal:
//
//   holdfast: waiting for orders, held by db1 pid 4711 (backup --full) for 2m 13s; 2nd in line
//
// Rewritten about once a second on a thread of its own (asking the engine may take a while), and
// gone without a trace when the wait is over. Without a terminal there is no such object.

#include <holdfast/client.hpp>
#include <holdfast/inspect.hpp>

#include <cstddef>
#include <stop_token>
#include <string>
#include <thread>

namespace holdfast::cli {

class waiting_line {
public:
    /// `name` and `engine` must outlive it.
    waiting_line(const client& engine, const std::string& name);
    waiting_line(const waiting_line&) = delete;
    waiting_line& operator=(const waiting_line&) = delete;

    /// Says nothing more; returns at once.
    void hush() noexcept { teller_.request_stop(); }

    /// Erases the line and ends the thread.
    ~waiting_line();

private:
    void keep_telling(const std::stop_token&) const;

    const client& engine_;
    const std::string& name_;
    std::jthread teller_;
};

/// The text of the line: who holds it, since when, and the place of `us` in the queue. Where that
/// is too much for so many columns, the command of the holder goes first, then a part of the name.
[[nodiscard]] std::string
waiting_sentence(const std::string& name, const lock_info&, const party& us, std::size_t columns);

} // namespace holdfast::cli
