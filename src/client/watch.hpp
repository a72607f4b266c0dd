#pragma once

// Who waits, watches: a blocked caller reads the engine's descriptor itself, so that an answer or a
// pushed grant costs one wake-up and not two.
//
//      LOOP ◀── somebody asynchronous asks, or nobody came for 2 ms ── PARKED
//        │                                                            ▲   │
//        │ a caller blocks              its answer came, nobody waits │   │ a caller blocks
//        ▼                                                            │   ▼
//      CALLER ◀── its own answer came, another is promoted ──────── CALLER
//
// Parked, nobody watches: the next caller is likely to be here in a moment, and waking the loop for
// the answers to releases would cost more than they are worth. A tick, armed at most once in 2 ms,
// looks whether he came.
//
// Invariant: at most one of them watches at a time; while somebody asynchronous waits, or for
// longer than two ticks, somebody does.

#include "runtime/loop.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>

namespace holdfast::detail {

class watch;

/// One blocked caller. Opened once, by whoever has its answer; it may be gone right after.
class sleeper {
public:
    explicit sleeper(watch& w) noexcept : watch_{w} {}
    void open() noexcept;
    void wait();

private:
    friend class watch;
    enum state : int { awake, asleep, promoted, watching, opened };

    void sleep() noexcept;
    void promote() noexcept;
    [[nodiscard]] bool begin_watching() noexcept;
    void stop_watching() noexcept;

    watch& watch_;
    std::atomic<int> state_{awake};
};

/// What an engine can do about being watched, if it can.
struct watching_skills {
    /// Waits for itself and for `nudge`, says `woken`, and reads; false: it cannot.
    std::function<bool(int nudge, const std::function<void()>& woken)> wait{};
    /// Is told whether the loop watches.
    std::function<void(bool)> watched{};
};

class watch {
public:
    watch(int descriptor, std::function<void()> on_readable, watching_skills = {});
    ~watch();
    watch(const watch&) = delete;
    watch& operator=(const watch&) = delete;

    /// What the loop watches instead of the descriptor itself; -1 if there is nothing to watch.
    [[nodiscard]] int for_the_loop() const noexcept { return for_loop_; }
    void on_loop_readable();

    /// Somebody waits who blocks no thread: between these two, the loop watches if no caller does.
    void loop_is_needed() noexcept;
    void loop_is_needed_less() noexcept;

private:
    friend class sleeper;
    void wait(sleeper&);
    void watch_until_opened(sleeper&);
    void hand_over() noexcept;
    void loop_watches(bool) noexcept;
    void arm_tick() noexcept;
    void nudge() noexcept;

    void watched(bool) const;

    const int descriptor_;
    const std::function<void()> on_readable_;
    const watching_skills can_;
    int for_loop_ = -1; // an epoll with the descriptor in it, which it hears or not
    int tick_ = -1;     // a timer that the loop hears
    int nudge_ = -1;    // wakes the caller who watches
    std::mutex guard_;
    sleeper* watcher_ = nullptr; // null: the loop, or nobody
    std::deque<sleeper*> others_;
    bool loop_hears_ = true;
    bool tick_armed_ = false;
    std::uint64_t callers_ = 0; // that have watched
    std::uint64_t callers_at_tick_ = 0;
    std::atomic<int> needs_loop_{0};
};

} // namespace holdfast::detail
