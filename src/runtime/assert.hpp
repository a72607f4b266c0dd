#pragma once

namespace holdfast::detail {
[[noreturn]] void
assertion_failed(const char* condition, const char* sentence, const char* file, int line) noexcept;
} // namespace holdfast::detail

/// On in every build: a lock library that is confused must stop.
#define HOLDFAST_ASSERT(condition, sentence)                                                       \
    ((condition) ? static_cast<void>(0)                                                            \
                 : ::holdfast::detail::assertion_failed(#condition, sentence, __FILE__, __LINE__))
