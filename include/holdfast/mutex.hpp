#pragma once

#include <holdfast/primitive.hpp>

namespace holdfast {

/// A mutex with a name, shared by everybody who opens the same engine.
///
/// Two faces. The std face is Lockable and TimedLockable: std::scoped_lock, std::unique_lock,
/// std::lock and std::condition_variable_any work. The full face hands out leases: proof of
/// holding, with a fence and a deadline, that may go to another thread.
///
/// Thread-safe. Failures of the engine throw std::system_error; contended is an ordinary answer.
class mutex : private detail::primitive {
public:
    mutex(const client& on, std::string name) : primitive{on, std::move(name)} {}

    /// Waits until it is ours. Throws resource_deadlock_would_occur if this thread has locked it.
    void lock();

    /// False only if somebody else holds it.
    [[nodiscard]] bool try_lock();
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& wait) {
        return try_lock_within(detail::as_wait(wait));
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& when) {
        return try_lock_within(detail::until(when));
    }
    void unlock() noexcept; ///< queues the release and returns

    /// The lease of this thread, if it has locked the std face; until it unlocks.
    [[nodiscard]] const lease& held_lease() const noexcept { return locked_.mine(); }

    /// Waits up to options.wait; throws errc::timed_out after that.
    [[nodiscard]] lease acquire(const acquire_options& options = {});

    /// Asks once. Nothing if contended.
    [[nodiscard]] std::optional<lease> try_acquire(acquire_options options = {});

    /// Waits at most so long. Nothing if it was contended all the time.
    [[nodiscard]] std::optional<lease> try_acquire_for(duration wait, acquire_options options = {});

    /// As acquire(), with a completion token: void(error_code, lease). Needs async.hpp, which tells
    /// about cancellation and lifetime; without a token the operation is asio::deferred.
    template <class Token> auto async_acquire(const acquire_options& options, Token&& token);
    template <class = void> auto async_acquire(acquire_options options = {});

    /// As the tries, with a completion token: void(error_code, optional<lease>).
    template <class Token> auto async_try_acquire(acquire_options options, Token&& token);
    template <class Token>
    auto async_try_acquire_for(duration wait, acquire_options options, Token&& token);

    [[nodiscard]] const std::string& name() const noexcept { return *name_; }

private:
    bool try_lock_within(duration wait);

    detail::own_leases locked_;
};

} // namespace holdfast
