#pragma once

// Who waits, watches: a blocked caller reads the engine's descriptor itself, so that a pushed grant
// costs one wake-up and not two. With no caller blocked, the loop watches.
//
//      loop ◀── last caller leaves ── CALLER ◀── next blocked caller is promoted ──┐
//        └──── a caller blocks ────────▶ └──── its own answer came, others wait ───┘
//
// Invariant: exactly one of them watches at a time; a caller that leaves has handed the watch over.

#include "runtime/loop.hpp"

#include <atomic>
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

class watch {
public:
    watch(int descriptor, std::function<void()> on_readable);
    ~watch();
    watch(const watch&) = delete;
    watch& operator=(const watch&) = delete;

    /// What the loop watches instead of the descriptor itself; -1 if there is nothing to watch.
    [[nodiscard]] int for_the_loop() const noexcept { return for_loop_; }

private:
    friend class sleeper;
    void wait(sleeper&);
    void watch_until_opened(sleeper&);
    void hand_over() noexcept;
    void loop_watches(bool) noexcept;
    void nudge() noexcept;

    const int descriptor_;
    const std::function<void()> on_readable_;
    int for_loop_ = -1; // an epoll with the descriptor in it, which it hears or not
    int nudge_ = -1;    // wakes the caller who watches
    std::mutex guard_;
    sleeper* watcher_ = nullptr; // null: the loop
    std::deque<sleeper*> others_;
};

} // namespace holdfast::detail
