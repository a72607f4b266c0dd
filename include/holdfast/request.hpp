#pragma once

#include <holdfast/backend.hpp>
#include <holdfast/options.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace holdfast {

/// Who may take again what it has: a thread, or whatever the caller says. 0: nobody.
enum class owner_id : std::uint64_t { nobody = 0 };

namespace detail {

/// One wish of one caller, as it goes from a primitive to the core.
struct request {
    std::shared_ptr<const std::string> name;
    holdfast::kind kind = kind::plain;
    holdfast::mode mode = mode::exclusive;
    std::uint32_t permits = 1;
    owner_id owner = owner_id::nobody;
    acquire_options options;
};

} // namespace detail
} // namespace holdfast
