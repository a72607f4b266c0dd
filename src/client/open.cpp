#include "client/engine_entry.hpp"
#include "runtime/pause.hpp"
#include "runtime/random.hpp"

#include <holdfast/client.hpp>
#include <holdfast/error.hpp>

#include <cstdlib>
#include <string>
#include <utility>

// One weak reference for each engine that exists; null where its library is not linked.
#define HOLDFAST_ENGINE(engine, scheme)                                                            \
    extern "C" __attribute__((weak)) const holdfast::detail::engine_entry holdfast_engine_##engine;
#include "engines.inc"
#undef HOLDFAST_ENGINE

namespace holdfast {
namespace {

struct known_engine {
    const char* scheme;
    const char* library;
    const detail::engine_entry* entry;
};

constexpr known_engine engines[] = {
#define HOLDFAST_ENGINE(engine, scheme) {scheme, "holdfast::" #engine, &holdfast_engine_##engine},
#include "engines.inc"
#undef HOLDFAST_ENGINE
};

[[nodiscard]] std::string known_schemes() {
    std::string list;
    for (const auto& e : engines)
        if (e.entry != nullptr)
            list.append(list.empty() ? "" : ", ").append(e.scheme).append(":");
    return list;
}

/// Tries again, as the policy has it, what failed because the engine was away.
[[nodiscard]] std::unique_ptr<backend>
connect(std::string_view url, bool children_keep_locks, const retry_policy& policy) {
    detail::kernel_random chance;
    const auto began = boot_clock::now();
    for (std::uint32_t retry = 0;; ++retry) {
        try {
            return detail::make_engine(url, children_keep_locks);
        } catch (const error& problem) {
            if (policy.is_default() || problem.code() != condition::try_again)
                throw;
            const auto pause = policy.pause_before(retry, boot_clock::now() - began, chance.next());
            if (!pause)
                throw;
            detail::pause_for(*pause);
        }
    }
}

} // namespace

std::string default_url() {
    const char* given = std::getenv("HOLDFAST_URL");
    return given != nullptr && *given != '\0' ? given : "sqlite:";
}

client open(std::string_view url, client_options options) {
    auto engine = connect(url.empty() ? default_url() : std::string{url},
                          options.children_keep_locks,
                          options.connect);
    return client{std::move(engine), std::move(options)};
}

bool detail::is_known_scheme(std::string_view scheme) noexcept {
    for (const auto& e : engines)
        if (scheme == e.scheme)
            return true;
    return false;
}

// A URL may carry a password: messages name its scheme only.
std::unique_ptr<backend> detail::make_engine(std::string_view url, bool children_keep_locks) {
    const auto colon = url.find(':');
    if (colon == std::string_view::npos || colon == 0)
        throw_error(errc::bad_option, "a URL begins with its scheme, one of " + known_schemes());
    const auto scheme = url.substr(0, colon);
    for (const auto& e : engines) {
        if (scheme != e.scheme)
            continue;
        if (e.entry == nullptr)
            throw_error(errc::unsupported,
                        "this program was not linked with " + std::string{e.library} + ", which " +
                            e.scheme + ": needs");
        return (*e.entry)({scheme, url.substr(colon + 1), children_keep_locks});
    }
    throw_error(errc::bad_option,
                "unknown URL scheme '" + std::string{scheme.substr(0, 32)} + "'; known are " +
                    known_schemes());
}

} // namespace holdfast
