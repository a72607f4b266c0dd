#pragma once

#include <holdfast/backend.hpp>

#include <cstdint>

namespace holdfast::detail {

/// Where the core gets its chance from: the kernel in production, a seed in simulation.
class random_source {
public:
    virtual std::uint64_t next() = 0;

protected:
    ~random_source() = default;
};

/// getrandom(2), some hundred bytes at a time. Not thread-safe, and not for a forked child.
class kernel_random final : public random_source {
public:
    std::uint64_t next() override;

private:
    std::uint64_t pool_[32]{};
    unsigned used_ = 32;
};

[[nodiscard]] inline nonce draw_nonce(random_source& chance) {
    nonce drawn;
    for (std::size_t word = 0; word < 2; ++word) {
        auto bits = chance.next();
        for (std::size_t i = 0; i < 8; ++i, bits >>= 8)
            drawn.bytes[word * 8 + i] = static_cast<unsigned char>(bits);
    }
    return drawn;
}

} // namespace holdfast::detail
