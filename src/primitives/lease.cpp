#include "client/client_state.hpp"
#include "lease/hold.hpp"
#include "primitives/blocking_release.hpp"
#include "runtime/assert.hpp"
#include "runtime/fork.hpp"

#include <holdfast/lease.hpp>

#include <algorithm>
#include <utility>

namespace holdfast {
namespace {

[[nodiscard]] bool ours(const detail::hold& h) noexcept {
    return h.generation == detail::fork_generation();
}

} // namespace

lease& lease::operator=(lease&& other) noexcept {
    if (this != &other) {
        if (hold_)
            drop();
        home_ = std::move(other.home_);
        hold_ = std::move(other.hold_);
    }
    return *this;
}

void lease::drop() noexcept {
    const auto home = std::move(home_); // keeps the client until the release is on its way
    const auto h = std::move(hold_);
    if (ours(*h))
        home->start_release(h, nullptr, detail::patience::short_);
}

bool lease::held() const noexcept {
    return hold_ && ours(*hold_) && hold_->held_at(boot_clock::now());
}

bool lease::lost() const noexcept {
    return hold_ && (!ours(*hold_) || hold_->lost_at(boot_clock::now()));
}

instant lease::deadline() const noexcept { return hold_ ? hold_->deadline() : instant{}; }

duration lease::remaining() const noexcept {
    if (!held())
        return duration::zero();
    return std::max(hold_->deadline() - boot_clock::now(), duration::zero());
}

fence lease::fence() const noexcept { return hold_ ? hold_->fence : holdfast::fence{}; }

const std::string& lease::name() const noexcept {
    HOLDFAST_ASSERT(hold_ != nullptr, "an empty lease has no name");
    return *hold_->name;
}

std::stop_token lease::stop_token() const { return hold_ ? hold_->token() : std::stop_token{}; }

void lease::on_lost(std::function<void()> listener) {
    HOLDFAST_ASSERT(hold_ != nullptr, "an empty lease cannot be lost");
    // Through the lane even if it is lost already: a listener never runs inside the caller.
    const auto h = hold_;
    if (!h->call_when_lost(listener))
        home_->alarms().post(std::move(listener));
}

void lease::on_wanted(std::function<void()> listener) {
    HOLDFAST_ASSERT(hold_ != nullptr, "nobody wants an empty lease");
    if (!hold_->call_when_wanted(listener))
        home_->handlers().post(std::move(listener));
}

release_result lease::release() {
    if (!hold_)
        throw_error(errc::not_held);
    const auto home = std::move(home_);
    const auto h = std::move(hold_);
    if (!ours(*h))
        return release_result::lost;
    detail::blocking_release answer{*home};
    home->start_release(h, &answer, detail::patience::full);
    answer.answered.wait();
    return answer.result;
}

} // namespace holdfast
