#include <holdfast/shared_mutex.hpp>

#include <utility>

namespace holdfast {

shared_mutex::shared_mutex(const client& on, std::string name) : primitive{on, std::move(name)} {
    kind_ = kind::read_write;
}

void shared_mutex::lock() {
    written_.put(acquire_or_throw(wish(mode::exclusive, {}, this_thread())));
}

bool shared_mutex::try_lock() { return try_lock_within(duration::zero()); }

bool shared_mutex::try_lock_within(duration wait) {
    auto got = acquire_within_wait(wish(mode::exclusive, {.wait = wait}, this_thread()));
    if (got)
        written_.put(std::move(*got));
    return got.has_value();
}

void shared_mutex::unlock() noexcept { (void)written_.take(); }

void shared_mutex::lock_shared() {
    read_.put(acquire_or_throw(wish(mode::shared, {}, this_thread())));
}

bool shared_mutex::try_lock_shared() { return try_lock_shared_within(duration::zero()); }

bool shared_mutex::try_lock_shared_within(duration wait) {
    auto got = acquire_within_wait(wish(mode::shared, {.wait = wait}, this_thread()));
    if (got)
        read_.put(std::move(*got));
    return got.has_value();
}

void shared_mutex::unlock_shared() noexcept { (void)read_.take(); }

lease shared_mutex::acquire(const acquire_options& options) {
    return acquire_or_throw(wish(mode::exclusive, options));
}

lease shared_mutex::acquire_shared(const acquire_options& options) {
    return acquire_or_throw(wish(mode::shared, options));
}

std::optional<lease> shared_mutex::try_acquire(acquire_options options) {
    return try_acquire_for(duration::zero(), options);
}

std::optional<lease> shared_mutex::try_acquire_shared(acquire_options options) {
    return try_acquire_shared_for(duration::zero(), options);
}

std::optional<lease> shared_mutex::try_acquire_for(duration wait, acquire_options options) {
    options.wait = wait;
    return acquire_within_wait(wish(mode::exclusive, options));
}

std::optional<lease> shared_mutex::try_acquire_shared_for(duration wait, acquire_options options) {
    options.wait = wait;
    return acquire_within_wait(wish(mode::shared, options));
}

} // namespace holdfast
