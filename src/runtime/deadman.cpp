#include "runtime/deadman.hpp"

#include <algorithm>
#include <csignal>

namespace holdfast::detail {

deadman::~deadman() {
    if (made_)
        ::timer_delete(timer_);
}

bool deadman::kill_at(instant when) {
    if (when == armed_)
        return true;
    if (!made_) {
        sigevent how{};
        how.sigev_notify = SIGEV_SIGNAL;
        how.sigev_signo = SIGKILL;
        made_ = ::timer_create(CLOCK_BOOTTIME, &how, &timer_) == 0;
        if (!made_)
            return false;
    }
    itimerspec at{};
    if (when != never) {
        const auto ns = std::max<std::int64_t>(when.time_since_epoch().count(), 1);
        at.it_value.tv_sec = ns / 1'000'000'000;
        at.it_value.tv_nsec = ns % 1'000'000'000;
    }
    if (::timer_settime(timer_, TIMER_ABSTIME, &at, nullptr) != 0)
        return false;
    armed_ = when;
    return true;
}

} // namespace holdfast::detail
