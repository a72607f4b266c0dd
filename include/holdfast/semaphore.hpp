#pragma once

#include <holdfast/primitive.hpp>

namespace holdfast {

/// N permits under one name. A permit is a lease: the permits of the dead come back, except where
/// capabilities::loses_permits says otherwise.
///
/// Everybody must name the same N; an engine grants while fewer than the asker's N are out.
/// Permits carry no fence. Thread-safe.
class semaphore : private detail::primitive {
public:
    semaphore(const client& on, std::string name, std::uint32_t permits);

    [[nodiscard]] lease acquire(const acquire_options& options = {});
    [[nodiscard]] std::optional<lease> try_acquire(acquire_options options = {});
    [[nodiscard]] std::optional<lease> try_acquire_for(duration wait, acquire_options options = {});

    /// As acquire(), with a completion token: void(error_code, lease). Needs async.hpp.
    template <class Token> auto async_acquire(const acquire_options& options, Token&& token);

    /// As the tries, with a completion token: void(error_code, optional<lease>).
    template <class Token> auto async_try_acquire(acquire_options options, Token&& token);
    template <class Token>
    auto async_try_acquire_for(duration wait, acquire_options options, Token&& token);

    [[nodiscard]] const std::string& name() const noexcept { return *name_; }
    [[nodiscard]] std::uint32_t permits() const noexcept { return permits_; }
};

} // namespace holdfast
