#pragma once

// What a machine may lack: the test is then skipped and says why, except in CI, where it fails.

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::servers {

/// Empty, or a sentence that says what is missing.
using lack = std::optional<std::string>;

[[nodiscard]] inline bool in_ci() {
    return std::getenv("CI") != nullptr; // NOLINT(concurrency-mt-unsafe): nobody changes it
}

/// The first of these that is not in PATH.
[[nodiscard]] lack missing_programs(const std::vector<std::string>& names);

} // namespace holdfast::servers

/// For the body of a test or of SetUp: goes on only if nothing is missing.
#define HOLDFAST_NEEDS(what)                                                                       \
    if (const ::holdfast::servers::lack missing_here = (what); missing_here) {                     \
        if (::holdfast::servers::in_ci())                                                          \
            FAIL() << *missing_here;                                                               \
        GTEST_SKIP() << *missing_here;                                                             \
    }                                                                                              \
    static_assert(true)
