#pragma once

#include <holdfast/capabilities.hpp>
#include <holdfast/clock.hpp>
#include <holdfast/guarantee.hpp>
#include <holdfast/inspect.hpp>
#include <holdfast/retry.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

class backend;
class observer;
namespace detail {
class client_state;
struct access;
} // namespace detail

struct client_options {
    std::shared_ptr<holdfast::observer> observer{}; ///< told of everything that matters
    std::string purpose{}; ///< what `holdfast ls` says of us; else the command line
    bool children_keep_locks =
        false;              ///< an embedded lock stays taken until all our children are gone too
    retry_policy connect{}; ///< how open() goes on when the engine cannot be opened just now
};

/// One engine, and all that keeps what we hold of it. A cheap handle: copies share the same client.
///
/// "One claim per name" means per client. When the last copy and the last lease are gone, what is
/// still queued is flushed, within two seconds.
class client {
public:
    explicit client(std::unique_ptr<backend>, client_options = {});

    /// What this engine can do, and on what its guarantee rests.
    [[nodiscard]] const holdfast::capabilities& capabilities() const noexcept;

    /// Throws errc::unsupported with the reason, unless the engine gives all of this.
    void require(guarantees) const;

    /// Who holds and who waits, for names that match a glob pattern.
    [[nodiscard]] std::vector<lock_info> inspect(const std::string& pattern = "*") const;

    /// The engine's state of safety and health, worst first.
    [[nodiscard]] std::vector<finding> examine() const;

    /// An operator's act: takes the lock from whoever holds it, who may be at work and is told as
    /// soon as can be: until then two believe to hold it. Returns how many held it.
    std::size_t force_release(const std::string& name) const;

    /// Asks whoever holds the name to release it: a request, which lease::on_wanted() hears and may
    /// obey. Returns how many were asked. Throws errc::unsupported if the engine cannot.
    std::size_t ask_release(const std::string& name) const;

    /// Sends what is still queued and ends all that this client holds; it cannot be used
    /// afterwards.
    void close(duration at_most = std::chrono::seconds{2}) const;

    /// As the ones above, with a completion token: void(error_code, what they return). Need
    /// async.hpp.
    template <class Token> auto async_inspect(const std::string& pattern, Token&& token) const;
    template <class Token> auto async_examine(Token&& token) const;
    template <class Token> auto async_force_release(const std::string& name, Token&& token) const;
    template <class Token> auto async_close(duration at_most, Token&& token) const;

private:
    friend struct detail::access;
    std::shared_ptr<detail::client_state> state_;
};

/// Opens an engine by its URL; without one, $HOLDFAST_URL or the embedded file of this user.
/// Throws std::system_error with one sentence that says what is wrong. A server that is away is not
/// an error here: connecting happens by itself, later.
[[nodiscard]] client open(std::string_view url = {}, client_options = {});

/// The URL that open() uses when it is given none.
[[nodiscard]] std::string default_url();

} // namespace holdfast
