#pragma once

// Deliberate defects, one at a time, to prove that the simulation has teeth. They exist only in the
// extra build `mutants`; everywhere else each is a constant false and leaves no trace.

#include <cstdint>

namespace holdfast::detail {

enum class defect : std::uint8_t {
    none = 0,
    release_without_nonce = 1,   // M1, in the models: whoever asks, it is freed
    deadline_from_reply = 2,     // M2
    held_is_a_flag = 3,          // M3
    no_drift_no_margin = 4,      // M4
    renews_after_release = 5,    // M5
    fresh_nonce_on_retry = 6,    // M6
    fence_not_raised = 7,        // M7, in the models: a takeover keeps the number
    no_raise_before_read = 8,    // M8, in the simulated users: a late write lands unseen
    unknown_means_renewed = 9,   // M9
    renewal_recreates = 10,      // M10, in the models: what is gone is made again
    only_push_wakes = 15,        // M15
    clock_stops_in_suspend = 16, // M16, in the simulated machines
    never_lets_go = 17,          // M17

    // Of a quorum.
    quorum_less_one = 21,          // Q1: granted by one member too few
    quorum_counts_unknown = 22,    // Q2: no answer is taken for a yes
    quorum_one_nonce = 23,         // Q3: a late withdrawal finds the grant of a later round
    quorum_one_round = 24,         // Q4: the largest fence, but nobody else is told
    quorum_deadline_of_reply = 25, // Q5: counted from the last answer
    quorum_releases_grants = 26,   // Q7: who may have it, but did not say so, is not asked
    quorum_no_quarantine = 27,     // Q6, in the simulated members: empty, and back at once

    // Of the machine that talks to ZooKeeper.
    zookeeper_older_session = 31,     // Z1: what an earlier session made is taken for ours
    zookeeper_always_next = 32,       // Z2: whoever goes, we are first, and nobody looks
    zookeeper_makes_again = 33,       // Z3: what may have been made is not looked for
    zookeeper_leaves_orphans = 34,    // Z4: nor when nobody wants it any more
    zookeeper_unknown_renews = 35,    // Z5: a beat without an answer counts
    zookeeper_link_renews = 36,       // Z6: who has a connection needs no leader
    zookeeper_anchor_of_reply = 38,   // Z8: a write counts from its answer
    zookeeper_removes_once = 39,      // Z9: a removal without an answer is not repeated
    zookeeper_writers_next = 40,      // Z10: a reading under the write before us is not expected
    zookeeper_waits_for_a_break = 41, // Z12: only a new connection asks again
    zookeeper_any_number = 42,        // Z13: whatever number our node has, nobody came before it
    zookeeper_any_folder = 43,        // Z14: a folder that was made anew is taken for the old one
};

#if defined(HOLDFAST_MUTANTS) && HOLDFAST_MUTANTS
extern defect chosen_defect; // set once by the test program
[[nodiscard]] inline bool has(defect d) noexcept { return chosen_defect == d; }
#else
[[nodiscard]] constexpr bool has(defect) noexcept { return false; }
#endif

} // namespace holdfast::detail
