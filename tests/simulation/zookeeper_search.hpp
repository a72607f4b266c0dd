#pragma once

// Three clients at one queue of ZooKeeper, and every order in which it can go: each request is
// carried out as late as it likes, anybody gives up, a session ends, the empty folder is removed, a
// client goes deaf for a while and then hears everything or has lost its connection. The engine's
// own machine decides; the server is a list of nodes.
//
//   never       two who believe, unless both read
//   in the end  everybody had it or gave up, and nothing is left
//
// States that differ only in how they came about are visited once: a machine is what it was told.
// Who is not deaf hears at once, and asks at once: hearing later is carrying out later what follows
// from it, and to believe earlier is only worse.

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::simulation {

enum class wants : std::uint8_t { lock, write, read, read_under_the_write };

struct search_scope {
    std::vector<std::vector<wants>> clients; ///< what each asks for, one after the other
    unsigned give_ups = 0;                   ///< how often each of these may happen, in all
    unsigned deaf = 0;
    unsigned ends_of_sessions = 0;
    unsigned reaps = 0; ///< the empty folder is removed, and its numbers begin again
};

struct search_result {
    std::uint64_t states = 0;
    std::uint64_t granted_by_an_event = 0;
    std::uint64_t granted_without_a_list = 0;
    std::string complaint; ///< with the way to it; empty if there is none
};

[[nodiscard]] search_result search(const search_scope&);

} // namespace holdfast::simulation
