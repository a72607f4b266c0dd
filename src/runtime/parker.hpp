#pragma once

// One thread waits, any other thread lets it go, once. A bare futex: after open() has published the
// word, the waiter may return and take the parker off its stack, so open() must not look at it
// again. A wake-up that hits memory used for something else by then is harmless (futex(2)).

#include <atomic>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace holdfast::detail {

class parker {
public:
    void open() noexcept {
        auto* const word = &word_;
        if (word->exchange(opened, std::memory_order_acq_rel) == slept_on)
            ::syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }
    void wait() noexcept {
        int seen = closed;
        if (!word_.compare_exchange_strong(seen, slept_on, std::memory_order_acq_rel))
            return;
        while (word_.load(std::memory_order_acquire) != opened)
            ::syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, slept_on, nullptr, nullptr, 0);
    }

private:
    static constexpr int closed = 0, slept_on = 1, opened = 2;
    std::atomic<int> word_{closed};
};

} // namespace holdfast::detail
