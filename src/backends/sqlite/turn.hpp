#pragma once

// One at a time, but not beyond one's own time: whoever gets no turn answers "unavailable" in time.
// (std::timed_mutex would do, if ThreadSanitizer of GCC 12 knew what it waits with.)

#include <holdfast/clock.hpp>

#include <condition_variable>
#include <mutex>

namespace holdfast::sqlite {

class turns {
public:
    /// A turn, until it goes; false if there was none in time.
    class turn {
    public:
        turn(turns& of, instant by) : of_{of}, taken_{of.take(by)} {}
        turn(const turn&) = delete;
        turn& operator=(const turn&) = delete;
        ~turn() {
            if (taken_)
                of_.give_back();
        }
        [[nodiscard]] explicit operator bool() const noexcept { return taken_; }

    private:
        turns& of_;
        bool taken_;
    };

private:
    [[nodiscard]] bool take(instant by) {
        std::unique_lock lock{mutex_};
        while (taken_) {
            const auto left = by - boot_clock::now();
            if (left <= duration::zero())
                return false;
            left_.wait_for(lock, left);
        }
        taken_ = true;
        return true;
    }

    void give_back() {
        {
            const std::lock_guard lock{mutex_};
            taken_ = false;
        }
        left_.notify_one();
    }

    std::mutex mutex_;
    std::condition_variable left_;
    bool taken_ = false;
};

} // namespace holdfast::sqlite
