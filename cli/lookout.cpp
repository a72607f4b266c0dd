#include "lookout.hpp"
#include "complaint.hpp"
#include "exit_codes.hpp"
#include "inspecting.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace holdfast::cli {

namespace {

/// For somebody who is slow to take them; two looks can be compared, whatever lies between.
constexpr std::size_t looks_kept = 100;

std::optional<client> opened(const std::string& url) {
    try {
        return open_to_look(url);
    } catch (const std::system_error& problem) {
        if (complaint_about(problem).exit_code == exit_code::usage) {
            throw;
        }
        return std::nullopt; // the first look will say why
    }
}

} // namespace

lookout::lookout(std::string url, std::string pattern, duration every)
    : url_{std::move(url)}, engine_{opened(url_)}, pattern_{std::move(pattern)}, every_{every},
      looking_{[this](const std::stop_token& stop) { keep_looking(stop); }} {}

look lookout::look_once() {
    look seen;
    seen.asked = boot_clock::now();
    try {
        if (!engine_) {
            engine_ = open_to_look(url_);
        }
        seen.locks = sorted(engine_->inspect(pattern_));
    } catch (...) { // whoever takes the look decides what it means
        seen.failed = std::current_exception();
    }
    seen.answered = boot_clock::now();
    seen.time = std::chrono::system_clock::now();
    return seen;
}

void lookout::keep_looking(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        auto seen = look_once();
        const auto next = seen.asked + every_;
        std::unique_lock hold{guard_};
        seen_.push_back(std::move(seen));
        if (seen_.size() > looks_kept) {
            seen_.pop_front();
        }
        news_.raise();
        const auto pause = std::max<duration>(next - boot_clock::now(), duration::zero());
        changed_.wait_for(hold, stop, pause, [this] { return hurry_; });
        hurry_ = false;
    }
    const std::scoped_lock hold{guard_};
    stopped_ = true;
    changed_.notify_all();
}

std::deque<look> lookout::take() {
    static_cast<void>(news_.lower());
    const std::scoped_lock hold{guard_};
    return std::exchange(seen_, {});
}

void lookout::look_now() {
    const std::scoped_lock hold{guard_};
    hurry_ = true;
    changed_.notify_all();
}

bool lookout::stops_within(std::chrono::milliseconds time) {
    looking_.request_stop();
    std::unique_lock hold{guard_};
    return changed_.wait_for(hold, time, [this] { return stopped_; });
}

} // namespace holdfast::cli
