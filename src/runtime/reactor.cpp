#include "runtime/reactor.hpp"
#include "runtime/assert.hpp"

#include <algorithm>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <utility>

namespace holdfast::detail {
namespace {

constexpr reactor::id the_timer = 0;

void control(int epoll, int how, int fd, reactor::id whose, bool writing) {
    epoll_event what{};
    what.events = EPOLLIN | (writing ? EPOLLOUT : 0U);
    what.data.u64 = whose;
    ::epoll_ctl(epoll, how, fd, &what);
}

} // namespace

reactor::reactor()
    : epoll_{::epoll_create1(EPOLL_CLOEXEC)}, timer_{::timerfd_create(CLOCK_BOOTTIME,
                                                                      TFD_CLOEXEC | TFD_NONBLOCK)} {
    HOLDFAST_ASSERT(epoll_ >= 0 && timer_ >= 0, "the kernel gave no descriptors");
    control(epoll_, EPOLL_CTL_ADD, timer_, the_timer, false);
}

reactor::~reactor() {
    ::close(timer_);
    ::close(epoll_);
}

reactor::id reactor::attend(std::weak_ptr<attended> who) {
    const std::lock_guard lock{guard_};
    all_[++last_id_].who = std::move(who);
    return last_id_;
}

void reactor::leave(id whose) {
    const std::lock_guard lock{guard_};
    all_.erase(whose);
}

void reactor::watch(id whose, int fd, bool writing) {
    {
        const std::lock_guard lock{guard_};
        if (const auto found = all_.find(whose); found != all_.end())
            found->second.fd = fd;
    }
    control(epoll_, EPOLL_CTL_ADD, fd, whose, writing);
}
void reactor::change(id whose, int fd, bool writing) {
    control(epoll_, EPOLL_CTL_MOD, fd, whose, writing);
}
void reactor::unwatch(id whose, int fd) {
    {
        const std::lock_guard lock{guard_};
        if (const auto found = all_.find(whose); found != all_.end())
            found->second.fd = -1;
    }
    ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
}

std::shared_ptr<attended> reactor::find(id whose) {
    const std::lock_guard lock{guard_};
    const auto found = all_.find(whose);
    if (found == all_.end())
        return nullptr;
    last_ready_ = whose;
    return found->second.who.lock();
}

std::vector<std::shared_ptr<attended>> reactor::everybody() {
    std::vector<std::shared_ptr<attended>> alive;
    const std::lock_guard lock{guard_};
    for (const auto& [_, at] : all_)
        if (auto one = at.who.lock())
            alive.push_back(std::move(one));
    return alive;
}

void reactor::wake_at(instant when) {
    if (when >= armed_.load())
        return;
    const std::lock_guard lock{guard_};
    if (when >= armed_.load())
        return;
    armed_ = when;
    const auto ns = std::max<std::int64_t>(when.time_since_epoch().count(), 1);
    itimerspec at{};
    at.it_value.tv_sec = ns / 1'000'000'000;
    at.it_value.tv_nsec = ns % 1'000'000'000;
    ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &at, nullptr);
}

void reactor::dispatch() {
    epoll_event ready[16];
    const int count = ::epoll_wait(epoll_, ready, 16, 0);
    for (int i = 0; i < count; ++i) {
        if (ready[i].data.u64 == the_timer) {
            on_timer();
            continue;
        }
        if (const auto who = find(
                ready[i].data.u64)) // a descriptor in trouble is readable: reading says what it is
            who->on_ready((ready[i].events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0,
                          (ready[i].events & EPOLLOUT) != 0);
    }
}

// The one that was ready last is asked for by itself: then its number need not be looked up behind
// ours. That is not to starve the others, nor the timer.
void reactor::wait(int nudge, const std::function<void()>& woken) {
    constexpr std::uint32_t then_the_others = 8;
    id likely = 0;
    pollfd all[] = {{epoll_, POLLIN, 0}, {nudge, POLLIN, 0}, {-1, POLLIN, 0}};
    {
        const std::lock_guard lock{guard_};
        likely = last_ready_;
        if (const auto found = all_.find(likely); found != all_.end())
            all[2].fd = found->second.fd;
    }
    const int count = ::poll(all, 3, -1);
    woken();
    if (count <= 0)
        return; // a signal
    if (all[1].revents != 0) {
        eventfd_t times = 0;
        ::eventfd_read(nudge, &times);
    }
    if (all[2].revents != 0 && ++waits_ % then_the_others != 0) {
        if (const auto who = find(likely))
            who->on_ready(true, false);
    } else if (all[0].revents != 0) {
        dispatch();
    }
}

void reactor::watched(bool yes) {
    watched_ = yes;
    if (!yes && kept_back_.exchange(false))
        for (const auto& who : everybody())
            who->on_unwatched();
}

void reactor::on_timer() {
    std::uint64_t times = 0;
    if (::read(timer_, &times, sizeof times) <= 0)
        return; // somebody else was here first
    {
        const std::lock_guard lock{guard_};
        armed_ = never;
    }
    const auto now = boot_clock::now();
    auto next = never;
    for (const auto& who : everybody())
        next = std::min(next, who->on_time(now));
    if (next != never)
        wake_at(next);
}

struct ticker::face final : attended {
    explicit face(std::function<instant(instant)> f) : tell{std::move(f)} {}
    void on_ready(bool, bool) override {}
    instant on_time(instant now) override { return tell(now); }
    const std::function<instant(instant)> tell;
};

ticker::ticker(std::shared_ptr<reactor> r, std::function<instant(instant)> on_time)
    : reactor_{std::move(r)}, face_{std::make_shared<face>(std::move(on_time))},
      id_{reactor_->attend(face_)} {}

ticker::~ticker() { reactor_->leave(id_); }

} // namespace holdfast::detail
