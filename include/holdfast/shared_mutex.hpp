#pragma once

#include <holdfast/primitive.hpp>

namespace holdfast {

/// One writer or many readers. std::shared_lock, std::unique_lock and std::scoped_lock work.
///
/// A thread that holds it alone may also read under its own write. The way back is refused at
/// once with resource_deadlock_would_occur: a reader that waits to become the writer waits for
/// itself. Readers carry a fence that is not below any writer's
/// before them and below every writer's after them. Thread-safe.
class shared_mutex : private detail::primitive {
public:
    shared_mutex(const client& on, std::string name);

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

    void lock_shared();
    [[nodiscard]] bool try_lock_shared();
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& wait) {
        return try_lock_shared_within(detail::as_wait(wait));
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration>& when) {
        return try_lock_shared_within(detail::until(when));
    }
    void unlock_shared() noexcept;

    [[nodiscard]] lease acquire(const acquire_options& options = {});
    [[nodiscard]] lease acquire_shared(const acquire_options& options = {});
    [[nodiscard]] std::optional<lease> try_acquire(acquire_options options = {});
    [[nodiscard]] std::optional<lease> try_acquire_shared(acquire_options options = {});
    [[nodiscard]] std::optional<lease> try_acquire_for(duration wait, acquire_options options = {});
    [[nodiscard]] std::optional<lease> try_acquire_shared_for(duration wait,
                                                              acquire_options options = {});

    /// As the blocking ones, with a completion token: void(error_code, lease). Need async.hpp.
    template <class Token> auto async_acquire(const acquire_options& options, Token&& token);
    template <class Token> auto async_acquire_shared(const acquire_options& options, Token&& token);

    /// As the tries: void(error_code, optional<lease>).
    template <class Token> auto async_try_acquire(acquire_options options, Token&& token);
    template <class Token> auto async_try_acquire_shared(acquire_options options, Token&& token);
    template <class Token>
    auto async_try_acquire_for(duration wait, acquire_options options, Token&& token);
    template <class Token>
    auto async_try_acquire_shared_for(duration wait, acquire_options options, Token&& token);

    [[nodiscard]] const std::string& name() const noexcept { return *name_; }

private:
    bool try_lock_within(duration wait);
    bool try_lock_shared_within(duration wait);

    detail::own_leases written_, read_;
};

} // namespace holdfast
