#include "runtime/lane.hpp"
#include "runtime/quiet_thread.hpp"

#include <utility>

namespace holdfast::detail {

void lane::start() {
    const std::lock_guard lock{guard_};
    if (!ending_)
        start_thread();
}

void lane::start_thread() {
    if (!thread_.joinable())
        thread_ = quiet_thread([this] { run(); });
}

void lane::post(std::function<void()> task) {
    const std::lock_guard lock{guard_};
    if (ending_)
        return;
    start_thread();
    tasks_.push_back(std::move(task));
    changed_.notify_one();
}

void lane::finish() {
    {
        const std::lock_guard lock{guard_};
        ending_ = true;
        changed_.notify_one();
    }
    if (thread_.joinable() && !is_this_thread())
        thread_.join();
}

bool lane::is_this_thread() const { return runs_on_.load() == std::this_thread::get_id(); }

void lane::run() {
    runs_on_ = std::this_thread::get_id();
    std::unique_lock lock{guard_};
    for (;;) {
        changed_.wait(lock, [this] { return ending_ || !tasks_.empty(); });
        if (tasks_.empty())
            return;
        auto task = std::move(tasks_.front());
        tasks_.pop_front();
        lock.unlock();
        task();
        task = nullptr; // what it captured may end a client: not under our lock
        lock.lock();
    }
}

} // namespace holdfast::detail
