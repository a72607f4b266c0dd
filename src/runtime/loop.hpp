#pragma once

#include <holdfast/clock.hpp>

#include <functional>
#include <memory>

namespace holdfast::detail {

/// The client's event loop: one thread, a timer on the boot clock, descriptors to watch, and work
/// that others hand over. Started when first needed.
class loop {
public:
    explicit loop(std::function<void()> on_timer); ///< the time given to wake_at() has come
    ~loop(); ///< ends the thread; what was posted and not begun is dropped
    loop(const loop&) = delete;
    loop& operator=(const loop&) = delete;

    void wake_at(instant);
    void watch(int fd, std::function<void()> on_readable); ///< until the end
    void post(std::function<void()>);
    void stop();

    [[nodiscard]] bool is_this_thread() const;

private:
    struct parts;
    std::unique_ptr<parts> parts_;
};

} // namespace holdfast::detail
