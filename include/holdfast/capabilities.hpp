#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast {

/// How far a lock of this engine reaches.
enum class reach : std::uint8_t { process, machine, network };

/// What a fence of this engine survives.
enum class fence_grade : std::uint8_t {
    none,      ///< there is none
    transient, ///< lost with the process that keeps it
    hybrid,    ///< a durable counter, with a clock as its floor should the counter be lost
    consensus, ///< kept by a majority
};

/// To what a ttl belongs.
enum class ttl_scope : std::uint8_t {
    grant,   ///< to one grant: not renewed, it is gone after that
    shared,  ///< to several grants of one client: while one is renewed, none of them ends
    session, ///< to the session that keeps all grants of a client alive
};

/// How a waiter learns that it is its turn.
enum class wake_by : std::uint8_t { polling, hint, grant };

/// What exclusion rests on. Without a fence check at the resource, each of these that does not
/// hold can put two holders side by side.
enum class assumption : std::uint8_t {
    clock_rates_agree = 1,        ///< clocks run at the same speed within 0.1 %
    engine_remembers = 2,         ///< a committed grant is not forgotten before its ttl
    engine_clock_never_jumps = 4, ///< the engine's clock does not jump forward
};

/// What an engine can do, and on what its guarantee rests. The same on every day of its life.
struct capabilities {
    const char* engine = "";
    holdfast::reach reach = holdfast::reach::process;
    bool shared = false;              ///< read-write locks
    bool permits = false;             ///< semaphores
    bool loses_permits = false;       ///< what somebody held who died may never come back
    bool fair = false;                ///< grants follow the order of asking
    bool lock_delay = false;          ///< a lock freed by failure can be kept back for a while
    bool notices_death = false;       ///< a dead holder is noticed at once, not after its ttl
    bool keeps_while_stopped = false; ///< who stands still keeps its locks, beyond their ttl
    bool blocks_caller = false;  ///< its calls can only block: async callers use the client's loop
    bool fence_per_pass = false; ///< a lease handed on inside one process has a larger fence
    bool asks_holders = false;   ///< a holder can be asked to release
    bool raises_fences = false;  ///< a grant's fence can be raised: a quorum needs it for its own
    std::uint8_t may_forget = 0; ///< so many members of a quorum may forget, and it still holds
    fence_grade fences = fence_grade::none;
    ttl_scope ttl = ttl_scope::grant;
    wake_by wake = wake_by::polling;
    std::uint8_t assumptions = 0; ///< a set of `assumption`
    std::size_t max_name_bytes = 1024;

    [[nodiscard]] constexpr bool assumes(assumption a) const noexcept {
        return (assumptions & static_cast<std::uint8_t>(a)) != 0;
    }
};

} // namespace holdfast
