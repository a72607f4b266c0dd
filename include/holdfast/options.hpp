#pragma once

#include <holdfast/clock.hpp>

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

/// How one acquisition is made. The defaults are right for most uses.
struct acquire_options {
    duration wait = forever;                 ///< how long to wait for a holder
    duration ttl = std::chrono::seconds{30}; ///< how long it outlives a holder that fell silent
    queueing order = queueing::plain;
    bool renew = true;                      ///< false: an explicit lease that ends after ttl
    duration lock_delay = duration::zero(); ///< kept back this long after it was lost
    duration max_hold = forever;            ///< then it is no longer renewed, and ends
    duration stop_margin =
        duration::zero(); ///< stop_token fires so long before the deadline; 0: ttl/6
    holdfast::on_deadline on_deadline = on_deadline::nothing;
};
static_assert(std::is_trivially_destructible_v<acquire_options>,
              "GCC 12 destroys some temporaries of one co_await expression twice");

} // namespace holdfast
