#include "runtime/random.hpp"
#include "runtime/assert.hpp"

#include <sys/random.h>

namespace holdfast::detail {

std::uint64_t kernel_random::next() {
    if (used_ == std::size(pool_)) {
        // 256 bytes or fewer are never cut short by a signal (getrandom(2)).
        const auto got = ::getrandom(pool_, sizeof pool_, 0);
        HOLDFAST_ASSERT(got == static_cast<ssize_t>(sizeof pool_),
                        "the kernel gave no random numbers");
        used_ = 0;
    }
    return pool_[used_++];
}

} // namespace holdfast::detail
