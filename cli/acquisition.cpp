#include "acquisition.hpp"

#include <holdfast/mutex.hpp>
#include <holdfast/options.hpp>
#include <holdfast/semaphore.hpp>
#include <holdfast/shared_mutex.hpp>

#include <algorithm>
#include <chrono>

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
    if (options.on_lost != on_lost::ignore) {
        asked.stop_margin = time_to_stop(options.ttl);
        asked.on_deadline = on_deadline::kill; // should we be stopped or starved: the last resort
    }
    return asked;
}

std::optional<lease> request(const client& engine, const run_options& options) {
    const auto asked = asked_for(options);
    switch (options.sharing) {
    case sharing::readers: {
        shared_mutex lock{engine, options.name};
        return lock.try_acquire_shared_for(asked.wait, asked);
    }
    case sharing::writer: {
        shared_mutex lock{engine, options.name};
        return lock.try_acquire_for(asked.wait, asked);
    }
    case sharing::permits: {
        semaphore lock{engine, options.name, options.permits};
        return lock.try_acquire_for(asked.wait, asked);
    }
    case sharing::nobody:
        break;
    }
    mutex lock{engine, options.name};
    return lock.try_acquire_for(asked.wait, asked);
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

std::optional<lease> acquisition::take() {
    asking_.join();
    if (failed_) {
        std::rethrow_exception(failed_);
    }
    return std::move(granted_);
}

} // namespace holdfast::cli
