#include <holdfast/recursive_mutex.hpp>

#include <utility>

namespace holdfast {

recursive_mutex::recursive_mutex(const client& on, std::string name)
    : primitive{on, std::move(name)} {
    kind_ = kind::reentrant;
}

void recursive_mutex::lock() {
    locked_.put(acquire_or_throw(wish(mode::exclusive, {}, this_thread())));
}

bool recursive_mutex::try_lock() { return try_lock_within(duration::zero()); }

bool recursive_mutex::try_lock_within(duration wait) {
    auto got = acquire_within_wait(wish(mode::exclusive, {.wait = wait}, this_thread()));
    if (got)
        locked_.put(std::move(*got));
    return got.has_value();
}

void recursive_mutex::unlock() noexcept { (void)locked_.take(); }

lease recursive_mutex::acquire(const acquire_options& options) {
    return acquire_or_throw(wish(mode::exclusive, options, this_thread()));
}

std::optional<lease> recursive_mutex::try_acquire(acquire_options options) {
    return try_acquire_for(duration::zero(), options);
}

std::optional<lease> recursive_mutex::try_acquire_for(duration wait, acquire_options options) {
    options.wait = wait;
    return acquire_within_wait(wish(mode::exclusive, options, this_thread()));
}

} // namespace holdfast
