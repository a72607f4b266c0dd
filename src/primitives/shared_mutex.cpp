#include <holdfast/shared_mutex.hpp>

#include <algorithm>
#include <utility>

namespace holdfast {

shared_mutex::shared_mutex(const client& on, std::string name) : primitive{on, std::move(name)} {
    kind_ = kind::read_write;
}

void shared_mutex::lock() { locked_ = acquire_or_throw(wish(mode::exclusive, {}, this_thread())); }

bool shared_mutex::try_lock() { return try_lock_within(duration::zero()); }

bool shared_mutex::try_lock_within(duration wait) {
    auto got = acquire_within_wait(wish(mode::exclusive, {.wait = wait}, this_thread()));
    if (got)
        locked_ = std::move(*got);
    return got.has_value();
}

void shared_mutex::unlock() noexcept { lease{std::move(locked_)}; }

void shared_mutex::lock_shared() {
    auto got = acquire_or_throw(wish(mode::shared, {}, this_thread()));
    const std::lock_guard guard{readers_guard_};
    readers_.emplace_back(std::this_thread::get_id(), std::move(got));
}

bool shared_mutex::try_lock_shared() { return try_lock_shared_within(duration::zero()); }

bool shared_mutex::try_lock_shared_within(duration wait) {
    auto got = acquire_within_wait(wish(mode::shared, {.wait = wait}, this_thread()));
    if (!got)
        return false;
    const std::lock_guard guard{readers_guard_};
    readers_.emplace_back(std::this_thread::get_id(), std::move(*got));
    return true;
}

void shared_mutex::unlock_shared() noexcept {
    lease mine; // ends after the guard: a release is not made under a lock
    const std::lock_guard guard{readers_guard_};
    const auto found = std::find_if(readers_.begin(), readers_.end(), [](const auto& reader) {
        return reader.first == std::this_thread::get_id();
    });
    if (found == readers_.end())
        return;
    mine = std::move(found->second);
    readers_.erase(found);
}

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
