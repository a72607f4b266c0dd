#pragma once

#include <holdfast/clock.hpp>

#include <atomic>

namespace holdfast::cli {

/// A page that front and guardian share, on which the guardian writes until when the lock is held.
///
/// If the guardian was killed, the front must say why. The dead-man timer kills it at the deadline;
/// anybody else kills it earlier. What the board says may be older than the truth, never newer.
class deadline_board {
public:
    deadline_board();
    deadline_board(const deadline_board&) = delete;
    deadline_board& operator=(const deadline_board&) = delete;
    ~deadline_board();

    void write(instant deadline) const noexcept;
    [[nodiscard]] bool has_passed() const noexcept;

private:
    std::atomic<duration::rep>* page_;
};

} // namespace holdfast::cli
