#include "lease/hold.hpp"

#include <utility>

namespace holdfast::detail {

#if defined(HOLDFAST_MUTANTS) && HOLDFAST_MUTANTS
defect chosen_defect = defect::none;
#endif

void hold::request_stop() {
    std::stop_source source{std::nostopstate};
    {
        const std::lock_guard guard{listeners_guard_};
        stop_requested_ = true;
        source = stop_;
    }
    source.request_stop();
}

void hold::report_lost() {
    request_stop();
    std::vector<std::function<void()>> listeners;
    {
        const std::lock_guard guard{listeners_guard_};
        if (std::exchange(lost_reported_, true))
            return;
        listeners.swap(listeners_);
    }
    for (auto& listener : listeners)
        listener();
}

std::stop_token hold::token() {
    const std::lock_guard guard{listeners_guard_};
    if (!stop_.stop_possible()) {
        stop_ = std::stop_source{};
        if (stop_requested_)
            stop_.request_stop(); // nobody listens to it yet: no foreign code runs under our lock
    }
    return stop_.get_token();
}

bool hold::call_when_lost(const std::function<void()>& listener) {
    const std::lock_guard guard{listeners_guard_};
    if (lost_reported_)
        return false;
    listeners_.push_back(listener);
    return true;
}

} // namespace holdfast::detail
