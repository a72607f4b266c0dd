#include "client/watch.hpp"
#include "runtime/assert.hpp"

#include <algorithm>
#include <linux/futex.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <utility>

namespace holdfast::detail {
namespace {

void futex_wake(std::atomic<int>* word) noexcept {
    ::syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

} // namespace

// After the exchange the caller may return and take the sleeper off its stack: only its address is
// used from then on, and a wake-up that hits other memory is harmless (futex(2)).
void sleeper::open() noexcept {
    auto* const word = &state_;
    auto& w = watch_;
    switch (word->exchange(opened, std::memory_order_acq_rel)) {
    case asleep:
    case promoted:
        futex_wake(word);
        break;
    case watching:
        w.nudge();
        break;
    default:
        break;
    }
}

void sleeper::wait() {
    if (state_.load(std::memory_order_acquire) != opened)
        watch_.wait(*this);
}

void sleeper::sleep() noexcept {
    int seen = awake;
    if (!state_.compare_exchange_strong(seen, asleep, std::memory_order_acq_rel))
        return;
    while (state_.load(std::memory_order_acquire) == asleep)
        ::syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, asleep, nullptr, nullptr, 0);
}

// Under the watch's guard: a sleeper cannot leave without it.
void sleeper::promote() noexcept {
    int seen = state_.load(std::memory_order_acquire);
    while (seen == awake || seen == asleep)
        if (state_.compare_exchange_weak(seen, promoted, std::memory_order_acq_rel))
            return futex_wake(&state_);
}

bool sleeper::begin_watching() noexcept {
    int seen = state_.load(std::memory_order_acquire);
    while (seen != opened)
        if (state_.compare_exchange_weak(seen, watching, std::memory_order_acq_rel))
            return true;
    return false;
}

void sleeper::stop_watching() noexcept {
    int seen = watching;
    state_.compare_exchange_strong(seen, awake, std::memory_order_acq_rel);
}

watch::watch(int descriptor, std::function<void()> on_readable, watching_skills can)
    : descriptor_{descriptor}, on_readable_{std::move(on_readable)}, can_{std::move(can)} {
    if (descriptor_ < 0)
        return;
    for_loop_ = ::epoll_create1(EPOLL_CLOEXEC);
    nudge_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    tick_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    HOLDFAST_ASSERT(for_loop_ >= 0 && nudge_ >= 0 && tick_ >= 0, "the kernel gave no descriptors");
    epoll_event readable{};
    readable.events = EPOLLIN;
    ::epoll_ctl(for_loop_, EPOLL_CTL_ADD, descriptor_, &readable);
    ::epoll_ctl(for_loop_, EPOLL_CTL_ADD, tick_, &readable);
    watched(true);
}

watch::~watch() {
    if (for_loop_ >= 0)
        ::close(for_loop_);
    if (nudge_ >= 0)
        ::close(nudge_);
    if (tick_ >= 0)
        ::close(tick_);
}

void watch::wait(sleeper& me) {
    if (descriptor_ < 0)
        return me.sleep();
    std::unique_lock lock{guard_};
    bool from_loop = false;
    if (watcher_ == nullptr) {
        watcher_ = &me;
        ++callers_;
        from_loop = loop_hears_;
        loop_watches(false);
    } else {
        others_.push_back(&me);
        lock.unlock();
        me.sleep();
        lock.lock();
        if (watcher_ != &me) {
            others_.erase(std::find(others_.begin(), others_.end(), &me));
            return;
        }
    }
    lock.unlock();
    if (from_loop)
        watched(false); // what was kept back goes out now, and that is not done under the guard
    watch_until_opened(me);
    lock.lock();
    hand_over();
}

// While it reads for the engine it is awake, and needs no nudge: its own answer may be what it
// reads.
void watch::watch_until_opened(sleeper& me) {
    const auto woken = [&me] { me.stop_watching(); };
    const std::function<void()> told = woken;
    while (me.begin_watching()) {
        if (can_.wait && can_.wait(nudge_, told))
            continue;
        pollfd both[] = {{descriptor_, POLLIN, 0}, {nudge_, POLLIN, 0}};
        if (::poll(both, 2, -1) <= 0)
            continue; // a signal
        woken();
        if (both[1].revents != 0) {
            eventfd_t count = 0;
            ::eventfd_read(nudge_, &count);
        }
        if (both[0].revents != 0)
            on_readable_();
    }
}

void watch::hand_over() noexcept {
    watcher_ = nullptr;
    if (others_.empty())
        return needs_loop_ > 0 ? loop_watches(true) : arm_tick();
    // The last in line: the first is likely the next to be served, and would have to hand over
    // again.
    watcher_ = others_.back();
    others_.pop_back();
    watcher_->promote();
}

void watch::on_loop_readable() {
    std::uint64_t times = 0;
    if (::read(tick_, &times, sizeof times) > 0) {
        const std::lock_guard lock{guard_};
        tick_armed_ = false;
        if (watcher_ == nullptr && callers_ == callers_at_tick_)
            loop_watches(true);
        else
            arm_tick();
    }
    on_readable_();
}

// Whoever parks it looks at the number under the guard: one of the two sees the other.
void watch::loop_is_needed() noexcept {
    if (needs_loop_.fetch_add(1) > 0 || descriptor_ < 0)
        return;
    const std::lock_guard lock{guard_};
    if (watcher_ == nullptr)
        loop_watches(true);
}

void watch::loop_is_needed_less() noexcept { needs_loop_.fetch_sub(1); }

void watch::watched(bool yes) const {
    if (can_.watched)
        can_.watched(yes);
}

void watch::arm_tick() noexcept {
    if (std::exchange(tick_armed_, true))
        return;
    callers_at_tick_ = callers_;
    itimerspec soon{};
    soon.it_value.tv_nsec = 2'000'000;
    ::timerfd_settime(tick_, 0, &soon, nullptr);
}

// Deaf, not gone: to take an epoll out of another and put it back costs several times as much.
void watch::loop_watches(bool yes) noexcept {
    if (std::exchange(loop_hears_, yes) == yes)
        return;
    epoll_event readable{};
    readable.events = yes ? EPOLLIN : 0U;
    ::epoll_ctl(for_loop_, EPOLL_CTL_MOD, descriptor_, &readable);
    if (yes)
        watched(true);
}

void watch::nudge() noexcept { ::eventfd_write(nudge_, 1); }

} // namespace holdfast::detail
