#pragma once

#include <holdfast/backend.hpp>
#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>
#include <holdfast/fence.hpp>

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

namespace holdfast {

namespace detail {
struct hold;
class client_state;
} // namespace detail

/// Proof that we hold a name, and until when we may believe it.
///
/// Move-only, one owner. Any thread may ask it at any time, but not while another moves, releases
/// or destroys it. held(), lost(), remaining() and fence() are wait-free and safe in a signal
/// handler.
class lease {
public:
    lease() noexcept = default;
    lease(lease&&) noexcept = default;
    lease& operator=(lease&&) noexcept;
    ~lease() { ///< queues the release and returns
        if (hold_)
            drop();
    }

    /// True if there is a lease here at all, held or not: ask held() before acting.
    [[nodiscard]] explicit operator bool() const noexcept { return hold_ != nullptr; }

    /// Computed from the clock, each time: a process that slept past its deadline is told no.
    [[nodiscard]] bool held() const noexcept;

    /// True once it ended without our release.
    [[nodiscard]] bool lost() const noexcept;

    /// Until the deadline, at least; zero if not held.
    [[nodiscard]] duration remaining() const noexcept;
    [[nodiscard]] instant deadline() const noexcept;

    [[nodiscard]] holdfast::fence fence() const noexcept;
    [[nodiscard]] const std::string& name() const noexcept;

    /// Requested stop_margin *before* the deadline, or at once when the lease is lost.
    [[nodiscard]] std::stop_token stop_token() const;

    /// Called once, on a thread of the client's, when the lease is lost; at once if it is.
    void on_lost(std::function<void()>);

    /// Called once, on a thread of the client's, when somebody else would like to have it: where
    /// the engine knows of waiters, or client::ask_release() was called. Nothing must be done about
    /// it.
    void on_wanted(std::function<void()>);

    /// Gives it back and waits for the answer. Whatever it says, this is no longer held.
    release_result release();

    /// As release(), with a completion token: void(error_code, release_result). Needs async.hpp.
    template <class Token> auto async_release(Token&& token);

private:
    friend struct detail::hold;
    lease(std::shared_ptr<detail::hold> hold, std::shared_ptr<detail::client_state> home) noexcept
        : home_{std::move(home)}, hold_{std::move(hold)} {}
    void drop() noexcept;

    std::shared_ptr<detail::client_state> home_; // the client lives as long as its leases
    std::shared_ptr<detail::hold> hold_;
};

} // namespace holdfast
