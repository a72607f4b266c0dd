#pragma once

// What happened between two looks at the engine, as far as they can tell.
//
//   before       after            happening
//   –            holder           granted
//   holder       –                released; lost, if it had to be renewed meanwhile and was not
//   holder       the same, but younger or with another fence     released, then granted
//   –            waiter           waits
//   waiter       –                left, unless the same party was granted the lock
//
// Who comes and goes between two looks is not seen. That an operator took the lock away, or that
// the holder's process died, looks like a release.

#include "lookout.hpp"

#include <holdfast/inspect.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::cli {

struct happening {
    enum class kind { held, granted, released, lost, waits, left, remark };
    kind what{};
    std::string name;
    party who;
    holdfast::mode mode = mode::exclusive;
    holdfast::fence fence;
    duration time{};    ///< how long it held or waited, when it was last seen
    std::string remark; ///< of a holder, for kind::remark

    friend bool operator==(const happening&, const happening&) = default;
};

/// Lock by lock, in the order of their names: first who went, then who came.
[[nodiscard]] std::vector<happening> happenings_between(const look& before, const look& after);

/// How things stand, for the first look of all: who holds, who waits.
[[nodiscard]] std::vector<happening> state_of(const look&);

[[nodiscard]] std::string_view name_of(happening::kind) noexcept;

} // namespace holdfast::cli
