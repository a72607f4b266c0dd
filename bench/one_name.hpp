#pragma once

// One name that all want all the time: between two processes, and inside one.
//
// Between processes the lock changes hands through the server; what is passed on inside a process
// never gets there. So the two are counted apart: hand-offs by the baton, and all grants together.

#include "world.hpp"

#include <optional>
#include <string>

namespace bench {

/// The peers that do the same as our two processes, and how many times as long we may take.
struct two_of_them {
    peer* first;
    peer* second;
    std::uint64_t hand_offs; ///< in one batch
    struct {
        std::optional<double> mean, p50, p99; ///< of a hand-off; one without is left out
        std::optional<double> grants; ///< the mean of all grants, passes inside a process included
    } at_most;
};

struct one_of_them {
    peer* who;
    std::uint64_t cycles;
    std::optional<double> at_most;
};

/// Two processes with eight threads each.
void between_processes(
    const world&, const effort&, findings&, placed, const std::string& name, const two_of_them&);

/// 64 threads of one process, ours and theirs: all grants, however they come.
void in_one_process(
    const world&, const effort&, findings&, placed, std::uint64_t cycles, const one_of_them&);

} // namespace bench
