#pragma once

#include <holdfast/primitive.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

/// Proof that we hold several names at once: held while all of them are, lost with the first.
///
/// Move-only, one owner; any thread may use it.
class multi_lease {
public:
    multi_lease() noexcept = default;
    explicit multi_lease(std::vector<lease> all);

    [[nodiscard]] explicit operator bool() const noexcept { return !all_.empty(); }
    [[nodiscard]] bool held() const noexcept;
    [[nodiscard]] bool lost() const noexcept;
    [[nodiscard]] instant deadline() const noexcept; ///< the earliest
    [[nodiscard]] duration remaining() const noexcept;

    /// Each in turn, in the order of their names; and one of them, which must be among them.
    [[nodiscard]] std::span<const lease> leases() const noexcept { return all_; }
    [[nodiscard]] const lease& of(std::string_view name) const;
    [[nodiscard]] holdfast::fence fence(std::string_view name) const { return of(name).fence(); }

    /// Requested as soon as one of the leases would have it so.
    [[nodiscard]] std::stop_token stop_token() const;

    /// Called once, when the first is lost.
    void on_lost(std::function<void()>);

    /// Called once, when the first is wanted by somebody else.
    void on_wanted(std::function<void()>);

    /// Gives all back and waits for the answers: lost if one was, else unknown if one is.
    release_result release();

private:
    struct together;
    std::vector<lease> all_;
    std::shared_ptr<together> stopping_; // goes before the leases whose tokens it listens to
};

/// Several locks as one: all or nothing, and never a deadlock with others who do the same, because
/// everybody takes them in the order of their names. std::scoped_lock and std::unique_lock work.
///
/// While it waits for one of them it holds those before it. Should one of these be lost meanwhile,
/// it begins again. Thread-safe.
class multi_lock {
public:
    /// One of the locks, taken as a mutex unless said otherwise.
    struct member {
        member(const char* n) : name{n} {}
        member(std::string n) : name{std::move(n)} {}
        [[nodiscard]] static member reading(std::string name); ///< a shared_mutex, with others
        [[nodiscard]] static member writing(std::string name); ///< a shared_mutex, alone
        [[nodiscard]] static member permit(std::string name, std::uint32_t permits);

        std::string name;
        holdfast::kind kind = kind::plain;
        holdfast::mode mode = mode::exclusive;
        std::uint32_t permits = 1;
    };

    /// At least one, and each name once.
    multi_lock(const client& on, std::vector<member> members);

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

    /// Waits up to options.wait for all of them together; throws errc::timed_out after that.
    [[nodiscard]] multi_lease acquire(const acquire_options& options = {});
    [[nodiscard]] std::optional<multi_lease> try_acquire(acquire_options options = {});
    [[nodiscard]] std::optional<multi_lease> try_acquire_for(duration wait,
                                                             acquire_options options = {});

    /// As acquire(), with a completion token: void(error_code, multi_lease). Needs async.hpp.
    template <class Token> auto async_acquire(const acquire_options& options, Token&& token);

    /// As the tries, with a completion token: void(error_code, optional<multi_lease>).
    template <class Token> auto async_try_acquire(acquire_options options, Token&& token);
    template <class Token>
    auto async_try_acquire_for(duration wait, acquire_options options, Token&& token);

private:
    class part : public detail::primitive {
    public:
        part(const client& on, member);
        [[nodiscard]] detail::request asks(const acquire_options&,
                                           owner_id = owner_id::nobody) const;
        using primitive::acquire_within_wait;

    private:
        mode mode_;
    };

    bool try_lock_within(duration wait);
    [[nodiscard]] std::vector<lease> climb(acquire_options, owner_id) const;
    [[nodiscard]] std::vector<detail::request> requests(const acquire_options&) const;

    client client_;
    std::vector<part> parts_; // in the order of their names
    detail::own_leases locked_;
};

} // namespace holdfast
