// Acquires and releases in memory as often as it is told, and says how long that took. Built twice:
// with observers that nobody uses, and without any (HOLDFAST_NO_OBSERVERS).

#include "pairs.hpp"

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

#include <cstdint>
#include <unistd.h>

int main() {
    const auto client = holdfast::open("memory:");
    holdfast::mutex lock{client, "orders/42"};
    std::int64_t last = 0;
    std::uint64_t cycles = 0;
    while (::read(0, &cycles, sizeof cycles) == static_cast<ssize_t>(sizeof cycles)) {
        const auto begin = bench::now_ns();
        for (std::uint64_t i = 0; i < cycles; ++i) {
            auto lease = lock.acquire();
            bench::check(lease.fence().value() > last, "the fence grows");
            last = lease.fence().value();
        }
        const auto took = bench::now_ns() - begin;
        bench::check(::write(1, &took, sizeof took) == sizeof took, "somebody listens");
    }
}
