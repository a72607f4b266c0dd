#include "lease/hold.hpp"

#include <memory>
#include <utility>

namespace holdfast::detail {

#if defined(HOLDFAST_MUTANTS) && HOLDFAST_MUTANTS
defect chosen_defect = defect::none;
#endif

hold::audience& hold::listening() {
    auto* there = audience_.load(std::memory_order_acquire);
    if (there != nullptr)
        return *there;
    auto made = std::make_unique<audience>();
    if (audience_.compare_exchange_strong(there, made.get(), std::memory_order_acq_rel))
        return *made.release();
    return *there; // somebody else was first
}

void hold::request_stop() {
    auto& all = listening();
    std::stop_source source{std::nostopstate};
    {
        const std::lock_guard guard{all.guard};
        all.stop_requested = true;
        source = all.stop;
    }
    source.request_stop();
}

void hold::report_lost() {
    request_stop();
    auto& all = listening();
    std::vector<std::function<void()>> listeners;
    {
        const std::lock_guard guard{all.guard};
        if (std::exchange(all.lost_reported, true))
            return;
        listeners.swap(all.listeners);
    }
    for (auto& listener : listeners)
        listener();
}

void hold::report_wanted() {
    auto& all = listening();
    std::vector<std::function<void()>> listeners;
    {
        const std::lock_guard guard{all.guard};
        all.is_wanted = true;
        listeners.swap(all.asked);
    }
    for (auto& listener : listeners)
        listener();
}

bool hold::call_when_wanted(const std::function<void()>& listener) {
    auto& all = listening();
    const std::lock_guard guard{all.guard};
    if (all.is_wanted)
        return false;
    all.asked.push_back(listener);
    return true;
}

std::stop_token hold::token() {
    auto& all = listening();
    const std::lock_guard guard{all.guard};
    if (!all.stop.stop_possible()) {
        all.stop = std::stop_source{};
        if (all.stop_requested)
            all.stop.request_stop(); // nobody listens yet: no foreign code runs under our lock
    }
    return all.stop.get_token();
}

bool hold::call_when_lost(const std::function<void()>& listener) {
    auto& all = listening();
    const std::lock_guard guard{all.guard};
    if (all.lost_reported)
        return false;
    all.listeners.push_back(listener);
    return true;
}

} // namespace holdfast::detail
