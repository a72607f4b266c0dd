#pragma once

#include "pairs.hpp"

#include <holdfast/mutex.hpp>

#include <cstdint>

namespace bench {

/// Tells a lease that was passed inside the process from one that the engine granted: the engine
/// reserves a block of fences with each grant, and passes count up inside it. True only where
/// nobody else uses the lock file.
class fence_blocks {
public:
    explicit fence_blocks(holdfast::mutex& alone) : first_{fence_of(alone)} {
        size_ = fence_of(alone) - first_;
        check(size_ > 1, "the engine reserves fences for passes");
    }
    [[nodiscard]] bool passed(std::int64_t fence) const noexcept {
        return (fence - first_) % size_ != 0;
    }

private:
    static std::int64_t fence_of(holdfast::mutex& m) {
        auto lease = m.acquire();
        const auto fence = lease.fence().value();
        check(lease.release() == holdfast::release_result::released, "the release is certain");
        return fence;
    }
    std::int64_t first_;
    std::int64_t size_;
};

} // namespace bench
