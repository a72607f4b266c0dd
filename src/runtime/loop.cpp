#include "runtime/loop.hpp"
#include "runtime/assert.hpp"
#include "runtime/quiet_thread.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <atomic>
#include <list>
#include <mutex>
#include <sys/timerfd.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace holdfast::detail {
namespace asio = boost::asio;

// Asio's own timers wait on CLOCK_MONOTONIC, which stops while the machine is suspended.
struct loop::parts {
    /// A descriptor that is not ours to close.
    struct watched {
        watched(asio::io_context& c, int fd, std::function<void()> f)
            : descriptor{c, fd}, on_readable{std::move(f)} {}
        asio::posix::stream_descriptor descriptor;
        std::function<void()> on_readable;
    };

    explicit parts(std::function<void()> f)
        : on_timer{std::move(f)},
          timer_fd{::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)}, timer{context,
                                                                                        timer_fd} {
        HOLDFAST_ASSERT(timer_fd >= 0, "the kernel gave no timer on the boot clock");
    }

    void start() {
        const std::lock_guard lock{guard};
        if (thread.joinable())
            return;
        wait_for_timer();
        thread = quiet_thread([this] {
            runs_on = std::this_thread::get_id();
            context.run();
        });
    }

    void wait_for_timer() {
        timer.async_wait(asio::posix::descriptor_base::wait_read, [this](const auto& ec) {
            if (ec)
                return;
            std::uint64_t times = 0;
            if (::read(timer_fd, &times, sizeof times) > 0)
                on_timer();
            wait_for_timer();
        });
    }

    static void wait_for(watched& what) {
        what.descriptor.async_wait(asio::posix::descriptor_base::wait_read,
                                   [&what](const auto& ec) {
                                       if (ec)
                                           return;
                                       what.on_readable();
                                       wait_for(what);
                                   });
    }

    std::function<void()> on_timer;
    asio::io_context context{1};
    asio::executor_work_guard<asio::io_context::executor_type> stay{context.get_executor()};
    int timer_fd;
    asio::posix::stream_descriptor timer;
    std::list<watched> all_watched;
    std::mutex guard;
    std::thread thread;
    std::atomic<std::thread::id> runs_on{};
};

loop::loop(std::function<void()> on_timer) : parts_{std::make_unique<parts>(std::move(on_timer))} {}

loop::~loop() { stop(); }

void loop::wake_at(instant when) {
    // Zero would disarm the timer; a past instant fires at once.
    const auto ns = std::max<std::int64_t>(when.time_since_epoch().count(), 1);
    itimerspec at{};
    at.it_value.tv_sec = ns / 1'000'000'000;
    at.it_value.tv_nsec = ns % 1'000'000'000;
    if (when == never)
        at.it_value = {};
    ::timerfd_settime(parts_->timer_fd, TFD_TIMER_ABSTIME, &at, nullptr);
    parts_->start();
}

void loop::watch(int fd, std::function<void()> on_readable) {
    post([p = parts_.get(), fd, f = std::move(on_readable)] {
        parts::wait_for(p->all_watched.emplace_back(p->context, fd, f));
    });
}

void loop::post(std::function<void()> task) {
    asio::post(parts_->context, std::move(task));
    parts_->start();
}

void loop::stop() {
    parts_->context.stop();
    if (parts_->thread.joinable() && !is_this_thread())
        parts_->thread.join();
    // Not ours to close, and about to be closed: its number may soon mean something else.
    for (auto& one : parts_->all_watched)
        if (one.descriptor.is_open())
            one.descriptor.release();
}

bool loop::is_this_thread() const { return parts_->runs_on.load() == std::this_thread::get_id(); }

} // namespace holdfast::detail
