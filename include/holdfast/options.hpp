#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/guarantee.hpp>
#include <holdfast/retry.hpp>

#include <cstdint>
#include <type_traits>

namespace holdfast {

/// Whether a waiter may be overtaken by one of its own process that is already awake.
enum class queueing : std::uint8_t {
    plain, ///< a lease may be handed on inside one process, at most 64 times or for 50 ms
    fair,  ///< every waiter has its own place in the engine's queue, and nobody is overtaken
};

/// What the kernel does to this process if it still holds the lease at its deadline.
enum class on_deadline : std::uint8_t {
    nothing, ///< the stop token and on_lost() tell; the work must obey
    kill, ///< SIGKILL, even while stopped or starved: the process does nothing after its deadline
};

/// How a waiter learns that it may have the lock now.
struct waiting {
    /// It has a place in the engine's queue, or is told; asking again is only the safety net.
    [[nodiscard]] static constexpr waiting pushed() noexcept { return {}; }

    /// It takes no place and listens to nobody: it asks again after pauses that double from `first`
    /// to `most`, each shortened by chance. For locks that are held for moments only.
    [[nodiscard]] static constexpr waiting spin(duration first = std::chrono::milliseconds{1},
                                                duration most = std::chrono::milliseconds{
                                                    128}) noexcept {
        return {true, first, most};
    }

    bool spins = false;
    duration first{};
    duration most{};
    friend bool operator==(const waiting&, const waiting&) = default;
};

/// How one acquisition is made. The defaults are right for most uses.
struct acquire_options {
    duration wait = forever;                 ///< how long to wait for a holder
    duration ttl = std::chrono::seconds{30}; ///< how long it outlives a holder that fell silent
    queueing order = queueing::plain;
    holdfast::waiting waiting{};
    bool renew = true;                      ///< false: an explicit lease that ends after ttl
    duration lock_delay = duration::zero(); ///< kept back this long after it was lost
    duration max_hold = forever;            ///< then it is no longer renewed, and ends
    /// The stop_token fires so long before the deadline; 0: ttl/6. Where a session is believed for
    /// less than the ttl, it is at most half of that.
    duration stop_margin = duration::zero();
    holdfast::on_deadline on_deadline = on_deadline::nothing;
    retry_policy retry{}; ///< when the engine is away
    guarantees require{}; ///< else it is refused, with errc::unsupported and the reason
};
static_assert(std::is_trivially_destructible_v<acquire_options>,
              "GCC 12 destroys some temporaries of one co_await expression twice");

} // namespace holdfast
