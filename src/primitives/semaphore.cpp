#include <holdfast/semaphore.hpp>

#include <utility>

namespace holdfast {

semaphore::semaphore(const client& on, std::string name, std::uint32_t permits)
    : primitive{on, std::move(name)} {
    if (permits == 0)
        throw_error(errc::bad_option, "a semaphore has at least one permit");
    kind_ = kind::permits;
    permits_ = permits;
}

lease semaphore::acquire(const acquire_options& options) {
    return acquire_or_throw(wish(mode::permit, options));
}

std::optional<lease> semaphore::try_acquire(acquire_options options) {
    return try_acquire_for(duration::zero(), options);
}

std::optional<lease> semaphore::try_acquire_for(duration wait, acquire_options options) {
    options.wait = wait;
    return acquire_within_wait(wish(mode::permit, options));
}

} // namespace holdfast
