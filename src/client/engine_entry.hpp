#pragma once

// How open(url) finds an engine without core depending on it: each engine's library defines one
// constant, holdfast_engine_<name>; core refers to it weakly. Linking the library is enough.

#include <holdfast/backend.hpp>

#include <memory>
#include <string_view>

namespace holdfast::detail {

struct engine_url {
    std::string_view scheme; ///< "sqlite"
    std::string_view rest;   ///< what follows "scheme:"
    bool children_keep_locks = false;
};

/// Makes the backend, or throws std::system_error with one sentence.
using engine_entry = std::unique_ptr<backend> (*)(const engine_url&);

[[nodiscard]] bool is_known_scheme(std::string_view) noexcept;

/// What open(url) does, without the client: the engine behind any URL of the table.
[[nodiscard]] std::unique_ptr<backend> make_engine(std::string_view url, bool children_keep_locks);

} // namespace holdfast::detail
