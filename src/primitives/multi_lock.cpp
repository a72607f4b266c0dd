#include "client/client_state.hpp"
#include "lease/hold.hpp"
#include "primitives/blocking_release.hpp"
#include "waiting/ascent.hpp"

#include <holdfast/multi_lock.hpp>

#include <algorithm>
#include <atomic>
#include <list>
#include <mutex>
#include <utility>

namespace holdfast {

// ------------------------------------------------------------------------------------ the lease

/// One stop source that listens to the tokens of all leases. Made when somebody asks for it.
struct multi_lease::together {
    std::once_flag made;
    std::stop_source source;
    std::list<std::stop_callback<std::function<void()>>> heard;
};

multi_lease::multi_lease(std::vector<lease> all)
    : all_{std::move(all)}, stopping_{std::make_shared<together>()} {}

bool multi_lease::held() const noexcept {
    return !all_.empty() && std::ranges::all_of(all_, &lease::held);
}

bool multi_lease::lost() const noexcept { return std::ranges::any_of(all_, &lease::lost); }

instant multi_lease::deadline() const noexcept {
    auto earliest = all_.empty() ? instant{} : never;
    for (const auto& each : all_)
        earliest = std::min(earliest, each.deadline());
    return earliest;
}

duration multi_lease::remaining() const noexcept {
    auto least = all_.empty() ? duration::zero() : forever;
    for (const auto& each : all_)
        least = std::min(least, each.remaining());
    return least;
}

const lease& multi_lease::of(std::string_view name) const {
    const auto found = std::ranges::find_if(all_, [&](const lease& l) { return l.name() == name; });
    if (found == all_.end())
        throw_error(errc::not_held, "this lease is not of " + std::string{name});
    return *found;
}

std::stop_token multi_lease::stop_token() const {
    if (!stopping_)
        return {};
    std::call_once(stopping_->made, [this] {
        for (const auto& each : all_)
            stopping_->heard.emplace_back(
                each.stop_token(),
                [source = stopping_->source]() mutable { source.request_stop(); });
    });
    return stopping_->source.get_token();
}

namespace {

/// Whoever of several calls it first.
[[nodiscard]] std::function<void()> once(std::function<void()> f) {
    return [f = std::make_shared<std::function<void()>>(std::move(f)),
            called = std::make_shared<std::atomic<bool>>(false)] {
        if (!called->exchange(true))
            (*f)();
    };
}

} // namespace

void multi_lease::on_lost(std::function<void()> listener) {
    const auto first = once(std::move(listener));
    for (auto& each : all_)
        each.on_lost(first);
}

void multi_lease::on_wanted(std::function<void()> listener) {
    const auto first = once(std::move(listener));
    for (auto& each : all_)
        each.on_wanted(first);
}

namespace {

[[nodiscard]] release_result worse(release_result a, release_result b) noexcept {
    if (a == release_result::lost || b == release_result::lost)
        return release_result::lost;
    return a == release_result::unknown ? a : b;
}

} // namespace

// All are on their way before the first answer is awaited.
release_result multi_lease::release() {
    if (all_.empty())
        throw_error(errc::not_held);
    stopping_.reset();
    auto worst = release_result::released;
    std::vector<std::shared_ptr<detail::client_state>> kept;
    std::list<detail::blocking_release> answers;
    auto all = std::exchange(all_, {});
    for (auto each = all.rbegin(); each != all.rend(); ++each) { // the last first
        const auto [h, home] = detail::hold::take(*each);
        if (!h || home->forked()) {
            worst = worse(worst, release_result::lost);
            continue;
        }
        kept.push_back(home); // its answers are awaited there
        home->start_release(h, &answers.emplace_back(*home), detail::patience::full);
    }
    for (auto& answer : answers) {
        answer.answered.wait();
        worst = worse(worst, answer.result);
    }
    return worst;
}

// -------------------------------------------------------------------------------- the members

multi_lock::member multi_lock::member::reading(std::string name) {
    member m{std::move(name)};
    m.kind = kind::read_write;
    m.mode = mode::shared;
    return m;
}

multi_lock::member multi_lock::member::writing(std::string name) {
    member m{std::move(name)};
    m.kind = kind::read_write;
    return m;
}

multi_lock::member multi_lock::member::permit(std::string name, std::uint32_t permits) {
    if (permits == 0)
        throw_error(errc::bad_option, "a semaphore has at least one permit");
    member m{std::move(name)};
    m.kind = kind::permits;
    m.mode = mode::permit;
    m.permits = permits;
    return m;
}

multi_lock::part::part(const client& on, member m)
    : primitive{on, std::move(m.name)}, mode_{m.mode} {
    kind_ = m.kind;
    permits_ = m.permits;
}

detail::request multi_lock::part::asks(const acquire_options& options, owner_id owner) const {
    return wish(mode_, options, owner);
}

// ----------------------------------------------------------------------------------- the lock

multi_lock::multi_lock(const client& on, std::vector<member> members) : client_{on} {
    if (members.empty())
        throw_error(errc::bad_option, "a multi_lock has at least one lock");
    std::ranges::sort(members, {}, &member::name);
    if (const auto twice = std::ranges::adjacent_find(members, {}, &member::name);
        twice != members.end())
        throw_error(errc::bad_option, "a multi_lock names each lock once, not " + twice->name);
    parts_.reserve(members.size());
    for (auto& m : members)
        parts_.emplace_back(on, std::move(m));
}

/// Empty if somebody else held one of them all the time. What is held when this fails is released
/// by going away, the last first.
std::vector<lease> multi_lock::climb(acquire_options options, owner_id owner) const {
    using step = detail::ascent::step;
    detail::ascent way{parts_.size(), options.wait, boot_clock::now()};
    std::vector<lease> taken;
    const auto give_back = [&] {
        while (!taken.empty())
            taken.pop_back();
    };
    for (;;) {
        const auto& next = parts_[way.next()];
        options.wait = way.wait_left(boot_clock::now());
        std::optional<lease> got;
        try {
            got = next.acquire_within_wait(next.asks(options, owner));
        } catch (...) {
            give_back();
            throw;
        }
        if (!got) {
            give_back();
            return {};
        }
        taken.push_back(std::move(*got));
        switch (way.granted(std::ranges::all_of(taken, &lease::held), boot_clock::now())) {
        case step::ask:
            break;
        case step::done:
            return taken;
        case step::start_over:
            give_back();
            break;
        case step::give_up:
            give_back();
            return {};
        }
    }
}

std::vector<detail::request> multi_lock::requests(const acquire_options& options) const {
    std::vector<detail::request> all;
    for (const auto& each : parts_)
        all.push_back(each.asks(options));
    return all;
}

void multi_lock::lock() {
    for (auto& each : climb({}, this_thread()))
        locked_.put(std::move(each));
}

bool multi_lock::try_lock() { return try_lock_within(duration::zero()); }

bool multi_lock::try_lock_within(duration wait) {
    auto taken = climb({.wait = wait}, this_thread());
    for (auto& each : taken)
        locked_.put(std::move(each));
    return !taken.empty();
}

void multi_lock::unlock() noexcept {
    for (std::size_t i = 0; i < parts_.size(); ++i)
        (void)locked_.take();
}

multi_lease multi_lock::acquire(const acquire_options& options) {
    auto taken = climb(options, owner_id::nobody);
    if (taken.empty())
        throw_error(errc::timed_out);
    return multi_lease{std::move(taken)};
}

std::optional<multi_lease> multi_lock::try_acquire(acquire_options options) {
    return try_acquire_for(duration::zero(), options);
}

std::optional<multi_lease> multi_lock::try_acquire_for(duration wait, acquire_options options) {
    options.wait = wait;
    auto taken = climb(options, owner_id::nobody);
    if (taken.empty())
        return std::nullopt;
    return multi_lease{std::move(taken)};
}

} // namespace holdfast
