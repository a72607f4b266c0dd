#pragma once

// The asynchronous twins of the blocking calls: the only header that knows Asio.
//
//   Completes with   void(error_code, lease) and the like; any completion token: a callback, a
//   future,
//                    a coroutine, asio::deferred.
//   Where            on the handler's associated executor; without one, on the client's callback
//   lane.
//                    Never inside the initiating call.
//   Cancellation     total and terminal, with asio::error::operation_aborted. A grant that raced
//   with it
//                    is released, not leaked.
//   Lifetime         the primitive may go away; the operation keeps the client. Options are copied.
//                    The handler's execution context must outlive the operation.
//   After fork()     a client of the parent throws errc::unsupported from the initiating call.
//
// A blocking call must not be made on the client's own threads (on_lost, an observer): it would
// wait for itself. These may.

#include <holdfast/client.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/multi_lock.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/recursive_mutex.hpp>
#include <holdfast/semaphore.hpp>
#include <holdfast/shared_mutex.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/execution/relationship.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/require.hpp>
#include <boost/asio/system_executor.hpp>

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace holdfast {
namespace detail {

using acquire_signature = void(error_code, lease);
using try_acquire_signature = void(error_code, std::optional<lease>);
using acquire_all_signature = void(error_code, multi_lease);
using try_acquire_all_signature = void(error_code, std::optional<multi_lease>);
using release_signature = void(error_code, release_result);
using inspect_signature = void(error_code, std::vector<lock_info>);
using examine_signature = void(error_code, std::vector<finding>);
using force_release_signature = void(error_code, std::size_t);
using close_signature = void(error_code);

/// An executor as post() would ask for it: once, and not at each completion.
template <class Executor> [[nodiscard]] auto for_posting(const Executor& own) {
    return boost::asio::prefer(boost::asio::require(own, boost::asio::execution::blocking.never),
                               boost::asio::execution::outstanding_work.tracked,
                               boost::asio::execution::relationship.fork);
}
using io_context_executor = boost::asio::io_context::executor_type;

/// Where a handler is to be called; nowhere means the callback lane. Nearly always it is an
/// io_context: that one is known by its type, which saves two allocations and a dozen calls a post.
struct place {
    std::optional<decltype(for_posting(std::declval<io_context_executor>()))> context;
    std::optional<boost::asio::any_io_executor> elsewhere;
};

/// A user's handler, type-erased, and its place.
/// (any_completion_executor, which comes with any_completion_handler, cannot post.)
template <class Signature> struct handler_of {
    template <class Handler>
    explicit handler_of(Handler&& h) : where{place_of(h)}, call{std::move(h)} {}

    place where;
    boost::asio::any_completion_handler<Signature> call;

private:
    template <class Handler> static place place_of(const Handler& h) {
        const auto own = boost::asio::get_associated_executor(h);
        using executor = std::remove_const_t<decltype(own)>;
        if constexpr (std::is_same_v<executor, boost::asio::system_executor>)
            return {};
        else if constexpr (std::is_same_v<executor, io_context_executor>)
            return {for_posting(own), {}};
        else {
            if constexpr (std::is_same_v<executor, boost::asio::any_io_executor>)
                if (const auto* known = own.template target<io_context_executor>())
                    return {for_posting(*known), {}};
            return {{}, for_posting(own)};
        }
    }
};

void begin_acquire(client&&, request&&, handler_of<acquire_signature>&&);
void begin_acquire(client&&, request&&, handler_of<try_acquire_signature>&&);
void begin_acquire_all(const client&, std::vector<request>, handler_of<acquire_all_signature>);
void begin_acquire_all(const client&, std::vector<request>, handler_of<try_acquire_all_signature>);
void begin_release(lease, handler_of<release_signature>);
void begin_inspect(const client&, std::string pattern, handler_of<inspect_signature>);
void begin_examine(const client&, handler_of<examine_signature>);
void begin_force_release(const client&, std::string name, handler_of<force_release_signature>);
void begin_close(const client&, duration at_most, handler_of<close_signature>);

template <class Signature = acquire_signature, class Token>
auto initiate_acquire(const client& on, request wanted, Token&& token) {
    return boost::asio::async_initiate<Token, Signature>(
        [](auto handler, client c, request&& r) {
            begin_acquire(std::move(c), std::move(r), handler_of<Signature>{std::move(handler)});
        },
        token,
        on,
        std::move(wanted));
}

template <class Signature, class Token>
auto initiate_acquire_all(const client& on, std::vector<request> wanted, Token&& token) {
    return boost::asio::async_initiate<Token, Signature>(
        [](auto handler, const client& c, std::vector<request> all) {
            begin_acquire_all(c, std::move(all), handler_of<Signature>{std::move(handler)});
        },
        token,
        on,
        std::move(wanted));
}

} // namespace detail

template <class Token> auto mutex::async_acquire(const acquire_options& options, Token&& token) {
    return detail::initiate_acquire(
        client_, wish(mode::exclusive, options), std::forward<Token>(token));
}

template <class> auto mutex::async_acquire(acquire_options options) {
    return async_acquire(options, boost::asio::deferred);
}

template <class Token>
auto mutex::async_try_acquire_for(duration wait, acquire_options options, Token&& token) {
    options.wait = wait;
    return detail::initiate_acquire<detail::try_acquire_signature>(
        client_, wish(mode::exclusive, options), std::forward<Token>(token));
}

template <class Token> auto mutex::async_try_acquire(acquire_options options, Token&& token) {
    return async_try_acquire_for(duration::zero(), options, std::forward<Token>(token));
}

template <class Token>
auto recursive_mutex::async_acquire(owner_id owner, const acquire_options& options, Token&& token) {
    return detail::initiate_acquire(
        client_, wish(mode::exclusive, options, owner), std::forward<Token>(token));
}

template <class Token>
auto recursive_mutex::async_try_acquire_for(owner_id owner,
                                            duration wait,
                                            acquire_options options,
                                            Token&& token) {
    options.wait = wait;
    return detail::initiate_acquire<detail::try_acquire_signature>(
        client_, wish(mode::exclusive, options, owner), std::forward<Token>(token));
}

template <class Token>
auto recursive_mutex::async_try_acquire(owner_id owner, acquire_options options, Token&& token) {
    return async_try_acquire_for(owner, duration::zero(), options, std::forward<Token>(token));
}

template <class Token>
auto shared_mutex::async_acquire(const acquire_options& options, Token&& token) {
    return detail::initiate_acquire(
        client_, wish(mode::exclusive, options), std::forward<Token>(token));
}

template <class Token>
auto shared_mutex::async_try_acquire_for(duration wait, acquire_options options, Token&& token) {
    options.wait = wait;
    return detail::initiate_acquire<detail::try_acquire_signature>(
        client_, wish(mode::exclusive, options), std::forward<Token>(token));
}

template <class Token>
auto shared_mutex::async_try_acquire(acquire_options options, Token&& token) {
    return async_try_acquire_for(duration::zero(), options, std::forward<Token>(token));
}

template <class Token>
auto shared_mutex::async_acquire_shared(const acquire_options& options, Token&& token) {
    return detail::initiate_acquire(
        client_, wish(mode::shared, options), std::forward<Token>(token));
}

template <class Token>
auto shared_mutex::async_try_acquire_shared_for(duration wait,
                                                acquire_options options,
                                                Token&& token) {
    options.wait = wait;
    return detail::initiate_acquire<detail::try_acquire_signature>(
        client_, wish(mode::shared, options), std::forward<Token>(token));
}

template <class Token>
auto shared_mutex::async_try_acquire_shared(acquire_options options, Token&& token) {
    return async_try_acquire_shared_for(duration::zero(), options, std::forward<Token>(token));
}

template <class Token>
auto semaphore::async_acquire(const acquire_options& options, Token&& token) {
    return detail::initiate_acquire(
        client_, wish(mode::permit, options), std::forward<Token>(token));
}

template <class Token>
auto semaphore::async_try_acquire_for(duration wait, acquire_options options, Token&& token) {
    options.wait = wait;
    return detail::initiate_acquire<detail::try_acquire_signature>(
        client_, wish(mode::permit, options), std::forward<Token>(token));
}

template <class Token> auto semaphore::async_try_acquire(acquire_options options, Token&& token) {
    return async_try_acquire_for(duration::zero(), options, std::forward<Token>(token));
}

template <class Token>
auto multi_lock::async_acquire(const acquire_options& options, Token&& token) {
    return detail::initiate_acquire_all<detail::acquire_all_signature>(
        client_, requests(options), std::forward<Token>(token));
}

template <class Token>
auto multi_lock::async_try_acquire_for(duration wait, acquire_options options, Token&& token) {
    options.wait = wait;
    return detail::initiate_acquire_all<detail::try_acquire_all_signature>(
        client_, requests(options), std::forward<Token>(token));
}

template <class Token> auto multi_lock::async_try_acquire(acquire_options options, Token&& token) {
    return async_try_acquire_for(duration::zero(), options, std::forward<Token>(token));
}

template <class Token> auto lease::async_release(Token&& token) {
    return boost::asio::async_initiate<Token, detail::release_signature>(
        [](auto handler, lease what) {
            detail::begin_release(
                std::move(what), detail::handler_of<detail::release_signature>{std::move(handler)});
        },
        token,
        std::move(*this));
}

template <class Token> auto client::async_inspect(const std::string& pattern, Token&& token) const {
    return boost::asio::async_initiate<Token, detail::inspect_signature>(
        [](auto handler, client c, std::string p) {
            detail::begin_inspect(
                c, std::move(p), detail::handler_of<detail::inspect_signature>{std::move(handler)});
        },
        token,
        *this,
        pattern);
}

template <class Token> auto client::async_examine(Token&& token) const {
    return boost::asio::async_initiate<Token, detail::examine_signature>(
        [](auto handler, const client& c) {
            detail::begin_examine(
                c, detail::handler_of<detail::examine_signature>{std::move(handler)});
        },
        token,
        *this);
}

template <class Token> auto client::async_close(duration at_most, Token&& token) const {
    return boost::asio::async_initiate<Token, detail::close_signature>(
        [](auto handler, const client& c, duration d) {
            detail::begin_close(
                c, d, detail::handler_of<detail::close_signature>{std::move(handler)});
        },
        token,
        *this,
        at_most);
}

template <class Token>
auto client::async_force_release(const std::string& name, Token&& token) const {
    return boost::asio::async_initiate<Token, detail::force_release_signature>(
        [](auto handler, client c, std::string n) {
            detail::begin_force_release(
                c,
                std::move(n),
                detail::handler_of<detail::force_release_signature>{std::move(handler)});
        },
        token,
        *this,
        name);
}

} // namespace holdfast
