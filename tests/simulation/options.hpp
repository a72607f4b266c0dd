#pragma once

// One world, as drawn from a seed: who lives in it, what may go wrong, and how often. Each seed
// enables some kinds of trouble and leaves out others, because trouble of all kinds at once hides
// the subtle.

#include "models/chance.hpp"
#include "simulation/timeline.hpp"

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace holdfast::simulation {

enum class engine : std::uint8_t { volatile_ttl, session_queue, lossy_sql, zookeeper, quorum };
inline constexpr engine all_engines[] = {
    engine::volatile_ttl, engine::session_queue, engine::lossy_sql}; // one server each
[[nodiscard]] const char* name_of(engine) noexcept;

/// Where what is held lives as long as a session, and messages travel over a connection.
[[nodiscard]] constexpr bool has_sessions(engine e) noexcept {
    return e == engine::session_queue || e == engine::zookeeper;
}

/// What a name is used for.
enum class family : std::uint8_t { mutex, read_write, semaphore };

struct name_plan {
    std::string name{};
    simulation::family family = family::mutex;
    std::uint32_t permits = 1;
    duration lock_delay{};
};

struct options {
    std::uint64_t seed = 0;
    simulation::engine engine = engine::volatile_ttl;
    bool wild = false; // beyond the guarantee: only fences protect
    bool calm = false; // no trouble at all

    // Who is there.
    unsigned machines = 2;
    unsigned actors = 2;   // in each process
    unsigned climbers = 0; // who take all names together
    std::vector<name_plan> names;
    duration ttl = std::chrono::seconds{1};
    duration session_ttl = std::chrono::seconds{1};

    // Clocks, in parts per million against true time.
    int server_ppm = 0;
    std::vector<int> machine_ppm;

    // A quorum of engines like volatile_ttl.
    unsigned members = 0;
    unsigned may_forget = 0; // so many of them come back empty at once, again and again
    bool wipes = false;      // the others come back empty too, but not before the longest lease
    duration clock_skew{};   // from one member to the next

    // ZooKeeper.
    bool mutex_is_semaphore = false; // Curator's InterProcessSemaphoreMutex
    bool session_raised = false;     // less was asked for than granted

    // The network. "Long" is in the order of a ttl.
    duration delay_least = std::chrono::microseconds{50};
    duration delay_most = std::chrono::milliseconds{2};
    unsigned slow_permille = 0; // a long journey, yet in time
    unsigned late_permille = 0; // may arrive when nobody waits any more
    unsigned lost_permille = 0;
    unsigned doubled_permille = 0;
    unsigned refused_permille = 0;
    unsigned descheduled_permille = 0; // a thread sleeps between deciding and doing
    unsigned unknown_commit_permille = 0;
    unsigned deadlock_permille = 0;
    unsigned slow_effect_permille = 0; // towards the protected resource

    // Faults: the mean time between two of a kind; zero means never.
    duration cuts{};
    duration pauses{};
    duration suspends{};
    duration crashes{};
    duration forks{};
    duration closes{};
    duration restarts{};    // of the server
    duration clock_jumps{}; // of the server, forwards
    duration takings{};     // by an operator

    // Habits of those who lock.
    unsigned try_permille = 100;
    unsigned tiny_wait_permille = 100;
    unsigned timed_permille = 300;
    unsigned cancel_permille = 50;
    unsigned fair_permille = 0;
    unsigned spin_permille = 0;
    unsigned policy_permille = 0; // have a retry policy of their own
    unsigned explicit_permille = 0;
    unsigned max_hold_permille = 0;
    unsigned deadly_permille = 0;
    unsigned stubborn_permille = 100; // goes on after it was asked to stop
    unsigned owner_permille = 300;
    unsigned nested_permille = 300;
    unsigned long_hold_permille = 100;
    duration think = std::chrono::milliseconds{5};
    duration usual_hold = std::chrono::milliseconds{10};

    std::uint64_t events = 2500; // before everything is healed
};

[[nodiscard]] options draw_options(std::uint64_t seed);
[[nodiscard]] options draw_zookeeper(std::uint64_t seed);
[[nodiscard]] options draw_quorum(std::uint64_t seed);
std::ostream& operator<<(std::ostream&, const options&);

} // namespace holdfast::simulation
