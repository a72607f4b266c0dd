#pragma once

// The process that holds the lock and is the parent of the command.

#include "deadline_board.hpp"
#include "run.hpp"
#include "signals.hpp"
#include "tether.hpp"

#include <vector>

namespace holdfast::cli {

/// What the guardian takes along from before the fork. The references outlive it: it never returns.
struct guardian_setting {
    pid_t front;
    const run_options& options;
    const inherited_signals& inherited;
    const deadline_board& board;
    const std::vector<int>& descriptors; ///< what the command was given beyond stderr
};

[[noreturn]] void stand_guard(const guardian_setting&, tether to_front) noexcept;

} // namespace holdfast::cli
