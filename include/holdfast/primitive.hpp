#pragma once

// What all primitives have in common: a client, a checked name, and how a request is put together.

#include <holdfast/backend.hpp>
#include <holdfast/client.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/request.hpp>

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace holdfast {

/// The owner that the blocking face of recursive_mutex uses.
[[nodiscard]] owner_id this_thread() noexcept;

/// Throws errc::bad_name unless it is 1 to 1024 bytes of UTF-8 without control characters.
void check_name(std::string_view name);

namespace detail {

class primitive {
protected:
    primitive(const client& on, std::string name);

    [[nodiscard]] request wish(mode, const acquire_options&, owner_id = owner_id::nobody) const;
    [[nodiscard]] lease acquire_or_throw(const request&) const;
    [[nodiscard]] std::optional<lease> acquire_within_wait(const request&) const;

    client client_;
    std::shared_ptr<const std::string> name_;
    holdfast::kind kind_ = kind::plain;
    std::uint32_t permits_ = 1;
};

/// What threads have locked through the std face of one object. Each finds its own: once a lease is
/// lost another thread may have locked, and the first one's unlock() must not give that back.
class own_leases {
public:
    own_leases() = default;
    own_leases(own_leases&& other) noexcept : leases_{std::move(other.leases_)} {}

    void put(lease);
    [[nodiscard]] lease take() noexcept; ///< this thread's last; else anybody's last; else nothing
    [[nodiscard]] const lease& mine() const noexcept;

private:
    mutable std::mutex guard_;
    std::list<std::pair<owner_id, lease>> leases_; // a list: mine() stays where it is
    lease none_;
};

/// A time in any unit as ours, never negative; too long to count is forever.
template <class Rep, class Period>
[[nodiscard]] constexpr duration as_wait(const std::chrono::duration<Rep, Period>& wait) {
    using exact = std::chrono::duration<long double, duration::period>;
    if (exact{wait} >= exact{forever})
        return forever;
    return wait > wait.zero() ? std::chrono::duration_cast<duration>(wait) : duration::zero();
}

/// What is left until `when` on another clock, never negative; clocks that std::unique_lock uses.
template <class Clock, class Duration>
[[nodiscard]] duration until(const std::chrono::time_point<Clock, Duration>& when) {
    const auto now = Clock::now();
    return when > now ? as_wait(when - now) : duration::zero();
}

} // namespace detail
} // namespace holdfast
