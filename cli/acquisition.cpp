#include "acquisition.hpp"

#include <holdfast/options.hpp>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace holdfast::cli {

namespace {

using namespace std::chrono_literals;

/// TERM needs time to be obeyed before KILL, and both must be over before the deadline.
duration time_to_stop(duration ttl) { return std::min<duration>(5s, ttl / 3); }

acquire_options asked_for(const run_options& options) {
    acquire_options asked;
    asked.wait = options.wait.value_or(forever);
    asked.ttl = options.ttl;
    asked.order = options.fair ? queueing::fair : queueing::plain;
    if (options.spin) {
        asked.waiting = waiting::spin();
    }
    asked.retry = options.retry;
    asked.require = options.require;
    if (options.on_lost != on_lost::ignore) {
        asked.stop_margin = time_to_stop(options.ttl);
        asked.on_deadline = on_deadline::kill; // should we be stopped or starved: the last resort
    }
    return asked;
}

multi_lock::member first_of(const run_options& options) {
    switch (options.sharing) {
    case sharing::readers:
        return multi_lock::member::reading(options.name);
    case sharing::writer:
        return multi_lock::member::writing(options.name);
    case sharing::permits:
        return multi_lock::member::permit(options.name, options.permits);
    case sharing::nobody:
        break;
    }
    return options.name;
}

std::optional<multi_lease> request(const client& engine, const run_options& options) {
    std::vector<multi_lock::member> all{first_of(options)};
    all.insert(all.end(), options.and_names.begin(), options.and_names.end());
    const auto asked = asked_for(options);
    return multi_lock{engine, std::move(all)}.try_acquire_for(asked.wait, asked);
}

} // namespace

acquisition::acquisition(const client& engine, const run_options& options)
    : asking_{[this, &engine, &options] { ask(engine, options); }} {}

void acquisition::ask(const client& engine, const run_options& options) noexcept {
    try {
        granted_ = request(engine, options);
    } catch (...) { // whatever it is, take() throws it on the guardian's own thread
        failed_ = std::current_exception();
    }
    over_.raise();
}

std::optional<multi_lease> acquisition::take() {
    asking_.join();
    if (failed_) {
        std::rethrow_exception(failed_);
    }
    return std::move(granted_);
}

} // namespace holdfast::cli
