#include "runtime/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace holdfast::detail {

void assertion_failed(const char* condition,
                      const char* sentence,
                      const char* file,
                      int line) noexcept {
    std::fprintf(stderr, "holdfast: %s (%s, %s:%d)\n", sentence, condition, file, line);
    std::abort();
}

} // namespace holdfast::detail
