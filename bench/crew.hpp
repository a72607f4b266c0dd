#pragma once

// Eight of us who hand something round: as processes or as threads, measured the same way.
//
//   worker A:  … holds · leaves(when, who) · lets go        the ledger they share lies in shared
//   memory: worker B:            waits ········ holds · enters       last holder, when it let go, a
//   counter that
//                                       └ latency            nobody protects but the lock under
//                                       test
//
// A hand-off is counted when the one who enters is not the one who left; to get again what one has
// just let go is counted apart.

#include "pairs.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace bench {

inline constexpr std::size_t crew_size = 8;

/// One worker's own tally.
struct tally {
    static constexpr std::size_t room = 1 << 15;
    std::uint64_t entries = 0;
    std::uint64_t hand_offs = 0;
    std::uint32_t kept = 0; ///< latencies noted
    float latencies[room];
};

/// What is under the lock. Trivial: it lies in memory that processes share, Java's among them: the
/// offsets are repeated in peers/java/Measured.java.
struct baton {
    std::uint64_t counter; ///< plain, on purpose: only the lock under test makes it exact
    std::int64_t last_fence;
    std::int64_t left_at;
    std::size_t last;
    std::uint64_t hand_offs;
    std::uint64_t enough; ///< the round is over after so many
    std::atomic<int> over;
    tally of[crew_size];

    /// By who has just got the lock. `passed`: this hand-over is one of those being timed.
    void enter(std::size_t who, std::int64_t fence, bool timed = true);
    /// By who is about to let it go.
    void leave(std::size_t who);

    void begin(std::uint64_t hand_offs_wanted);
    [[nodiscard]] sample result(std::int64_t took_ns) const;
    [[nodiscard]] double again_share() const; ///< of all entries: got again by who let go
};

static_assert(offsetof(baton, left_at) == 16 && offsetof(baton, enough) == 40 &&
              offsetof(baton, over) == 48 && offsetof(baton, of) == 56);
static_assert(offsetof(tally, latencies) == 20 && sizeof(tally) == 24 + 4 * tally::room);

/// Processes that wait for orders. All are forked at once, before any thread is started.
class crew {
public:
    /// `work(who, order)` runs in the worker; it is to go on until baton.over.
    crew(placed,
         std::function<void(std::size_t who, int order)> work,
         std::size_t size = crew_size);
    ~crew();
    crew(const crew&) = delete;
    crew& operator=(const crew&) = delete;

    /// All do it; returns when all have finished, and how long that took.
    std::int64_t order(int what);

private:
    struct worker {
        int pid, to, from;
    };
    std::vector<worker> all_;
};

/// Memory that forked children share, zeroed; strangers open it as a file by that name.
[[nodiscard]] void* shared_memory(std::size_t, std::string* name = nullptr);
template <class T> [[nodiscard]] T& shared(std::string* name = nullptr) {
    return *static_cast<T*>(shared_memory(sizeof(T), name));
}

void futex_wait(std::atomic<int>&, int while_it_is) noexcept;
void futex_wake(std::atomic<int>&) noexcept;

} // namespace bench
