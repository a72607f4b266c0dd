#pragma once

#include <holdfast/primitive.hpp>

namespace holdfast {

/// A mutex that its holder may take again: no round trip, same fence, given back with the last.
///
/// In the blocking face it belongs to a thread, also through another recursive_mutex of the same
/// client and name; in the asynchronous face to an owner that the caller names. Thread-safe.
class recursive_mutex : private detail::primitive {
public:
    recursive_mutex(const client& on, std::string name);

    void lock();
    [[nodiscard]] bool try_lock();
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& wait) {
        return try_lock_within(detail::as_wait(wait));
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& when) {
        return try_lock_within(detail::until(when));
    }
    void unlock() noexcept;

    [[nodiscard]] lease acquire(const acquire_options& options = {});
    [[nodiscard]] std::optional<lease> try_acquire(acquire_options options = {});
    [[nodiscard]] std::optional<lease> try_acquire_for(duration wait, acquire_options options = {});

    /// As acquire(), on behalf of `owner`, with a completion token: void(error_code, lease).
    template <class Token>
    auto async_acquire(owner_id owner, const acquire_options& options, Token&& token);

    /// As the tries, on behalf of `owner`: void(error_code, optional<lease>).
    template <class Token>
    auto async_try_acquire(owner_id owner, acquire_options options, Token&& token);
    template <class Token>
    auto
    async_try_acquire_for(owner_id owner, duration wait, acquire_options options, Token&& token);

    [[nodiscard]] const std::string& name() const noexcept { return *name_; }

private:
    bool try_lock_within(duration wait);

    detail::own_leases locked_; // one for each lock()
};

} // namespace holdfast
