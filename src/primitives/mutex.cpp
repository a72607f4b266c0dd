#include <holdfast/mutex.hpp>

#include <utility>

namespace holdfast {

void mutex::lock() { locked_.put(acquire_or_throw(wish(mode::exclusive, {}, this_thread()))); }

bool mutex::try_lock() { return try_lock_within(duration::zero()); }

bool mutex::try_lock_within(duration wait) {
    auto got = acquire_within_wait(wish(mode::exclusive, {.wait = wait}, this_thread()));
    if (got)
        locked_.put(std::move(*got));
    return got.has_value();
}

void mutex::unlock() noexcept { (void)locked_.take(); }

lease mutex::acquire(const acquire_options& options) {
    return acquire_or_throw(wish(mode::exclusive, options));
}

std::optional<lease> mutex::try_acquire(acquire_options options) {
    return try_acquire_for(duration::zero(), options);
}

std::optional<lease> mutex::try_acquire_for(duration wait, acquire_options options) {
    options.wait = wait;
    return acquire_within_wait(wish(mode::exclusive, options));
}

} // namespace holdfast
