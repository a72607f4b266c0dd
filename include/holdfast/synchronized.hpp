#pragma once

#include <holdfast/mutex.hpp>

#include <concepts>
#include <functional>
#include <source_location>
#include <string>
#include <utility>

namespace holdfast {

namespace detail {

/// "report.cpp: void nightly()". The same for everybody who runs this very function.
[[nodiscard]] std::string name_of_call(const std::source_location&);

template <class F>
concept protected_work = std::invocable<F, const lease&> || std::invocable<F>;

template <protected_work F> decltype(auto) run_under(const lease& held, F&& work) {
    if constexpr (std::invocable<F, const lease&>)
        return std::invoke(std::forward<F>(work), held);
    else
        return std::invoke(std::forward<F>(work));
}

} // namespace detail

/// Runs `work` while holding a mutex, and returns what it returns. It may take the lease, to see
/// whether it still holds it: `synchronized(client, "nightly", [](const lease& held) { … });`
template <detail::protected_work F>
decltype(auto)
synchronized(const client& on, std::string name, F&& work, const acquire_options& options = {}) {
    const auto held = mutex{on, std::move(name)}.acquire(options);
    return detail::run_under(held, std::forward<F>(work));
}

/// The same, under the name of the function in which it is written (and its file's): as if that
/// function carried an annotation. Two such calls in one function exclude each other.
template <detail::protected_work F>
decltype(auto) synchronized(const client& on,
                            F&& work,
                            const acquire_options& options = {},
                            const std::source_location& where = std::source_location::current()) {
    const auto held = mutex{on, detail::name_of_call(where)}.acquire(options);
    return detail::run_under(held, std::forward<F>(work));
}

} // namespace holdfast
