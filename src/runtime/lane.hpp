#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace holdfast::detail {

/// One thread for the user's own code. A slow handler delays other handlers of its lane, never a
/// renewal. Started when first needed.
class lane {
public:
    lane() = default;
    lane(const lane&) = delete;
    lane& operator=(const lane&) = delete;
    ~lane() { finish(); }

    /// Starts the thread, so that post() cannot fail for want of one.
    void start();
    void post(std::function<void()> task);

    /// Runs what is queued and ends. From the lane's own thread: only marks the end.
    void finish();

    [[nodiscard]] bool is_this_thread() const;

private:
    void start_thread();
    void run();

    mutable std::mutex guard_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> tasks_;
    bool ending_ = false;
    std::thread thread_;
    std::atomic<std::thread::id> runs_on_{};
};

} // namespace holdfast::detail
