#include "client/client_state.hpp"
#include "lease/hold.hpp"
#include "primitives/checks.hpp"
#include "runtime/assert.hpp"

#include <holdfast/primitive.hpp>

#include <algorithm>
#include <functional>
#include <iterator>
#include <thread>
#include <utility>

namespace holdfast {

owner_id this_thread() noexcept {
    // Never `nobody`: a thread id hashes to its own, non-zero value here.
    const auto id = std::hash<std::thread::id>{}(std::this_thread::get_id());
    return owner_id{id == 0 ? 1 : id};
}

namespace detail {
namespace {

struct blocking_acquire final : acquirer {
    explicit blocking_acquire(client_state& at) : answered{at.where_to_wait()} {}
    void told(error_code ec, std::string why, std::shared_ptr<hold> h) override {
        error = ec;
        detail = std::move(why);
        granted = std::move(h);
        answered.open();
    }
    error_code error;
    std::string detail;
    std::shared_ptr<hold> granted;
    sleeper answered;
};

} // namespace

primitive::primitive(const client& on, std::string name) : client_{on} {
    check_name(name);
    name_ = std::make_shared<const std::string>(std::move(name));
}

request primitive::wish(mode how, const acquire_options& options, owner_id owner) const {
    request made{name_, kind_, how, permits_, owner, options};
    if (options.require.has(guarantee::fair))
        made.options.order = queueing::fair;
    if (made.kind == kind::plain && made.options.order == queueing::fair)
        made.kind = kind::fair;
    if (made.kind == kind::plain && options.waiting.spins)
        made.kind = kind::spin;
    return made;
}

std::optional<lease> primitive::acquire_within_wait(const request& wanted) const {
    const auto& state = access::of(client_);
    if (const char* wrong = what_is_wrong_with(wanted.options))
        throw_error(errc::bad_option, wrong);
    state->check_not_forked();
    HOLDFAST_ASSERT(!state->is_own_thread(),
                    "a blocking call on the client's own loop would wait for itself");
    blocking_acquire asked{*state};
    asked.what = wanted;
    state->start_acquire(asked, patience::full);
    asked.answered.wait();
    if (asked.granted)
        return hold::make_lease(std::move(asked.granted), state);
    if (asked.error && asked.error != errc::timed_out)
        throw_error(asked.error, asked.detail);
    return std::nullopt;
}

void own_leases::put(lease taken) {
    const std::lock_guard guard{guard_};
    leases_.emplace_back(this_thread(), std::move(taken));
}

// The caller lets it go after this, so that a release is not made under a lock.
lease own_leases::take() noexcept {
    const std::lock_guard guard{guard_};
    if (leases_.empty())
        return {};
    auto last = std::find_if(leases_.rbegin(), leases_.rend(), [](const auto& entry) {
        return entry.first == this_thread();
    });
    if (last == leases_.rend())
        last = leases_.rbegin();
    auto taken = std::move(last->second);
    leases_.erase(std::prev(last.base()));
    return taken;
}

const lease& own_leases::mine() const noexcept {
    const std::lock_guard guard{guard_};
    const auto last = std::find_if(leases_.rbegin(), leases_.rend(), [](const auto& entry) {
        return entry.first == this_thread();
    });
    return last == leases_.rend() ? none_ : last->second;
}

lease primitive::acquire_or_throw(const request& wanted) const {
    if (auto got = acquire_within_wait(wanted))
        return std::move(*got);
    throw_error(errc::timed_out);
}

} // namespace detail
} // namespace holdfast
