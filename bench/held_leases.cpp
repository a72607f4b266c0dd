// A hundred thousand leases, held and renewed by one process: what they cost while nothing happens.

#include "at_rest.hpp"
#include "rows.hpp"

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

#include <chrono>
#include <thread>

namespace bench {

void held_leases(const effort& how,
                 findings& out,
                 const std::function<void(std::size_t)>& while_held) {
    const auto count = how.size < 1 ? std::size_t{10'000} : std::size_t{100'000};
    enum : std::size_t { heap, resident, cpu, acquiring, figures };
    double found[figures] = {};
    in_a_child(
        [&](double* mine) {
            const auto client = holdfast::open(how.url);
            {
                holdfast::mutex warm{client, "warm"};
                static_cast<void>(warm.acquire().release());
            }
            std::vector<holdfast::lease> held;
            held.reserve(count);
            const auto before = footprint::now();
            const auto begin = now_ns();
            for (std::size_t i = 0; i < count; ++i)
                held.push_back(holdfast::mutex{client, "orders/" + std::to_string(i)}.acquire());
            const auto full = footprint::now();
            const auto n = static_cast<double>(count);
            mine[acquiring] = static_cast<double>(now_ns() - begin) / n;
            mine[heap] = (full.heap - before.heap) / n + sizeof(holdfast::lease);
            mine[resident] = (full.resident - before.resident) / n; // with the leases themselves
            const auto from = footprint::now();
            const auto since = now_ns();
            std::this_thread::sleep_for(std::chrono::seconds{how.idle_seconds});
            const auto to = footprint::now();
            mine[cpu] = (to.cpu_ns - from.cpu_ns) / static_cast<double>(now_ns() - since) * 100;
            for (const auto& one : held)
                check(one.held(), "all are still held");
            while_held(count);
        },
        found,
        figures);
    const auto work =
        (count == 100'000 ? "100,000" : "10,000") + std::string{" held leases, ttl 30 s"};
    const auto over = "over " + std::to_string(how.idle_seconds) + " s, with their renewals";
    out.figures.push_back({work, "CPU", found[cpu], "% of a core", 5.0, over});
    out.figures.push_back(
        {work, "memory, each", found[heap], "bytes", 1024.0, "given out by malloc"});
    out.figures.push_back(
        {work, "memory, each", found[resident], "bytes", 1024.0, "resident, with the names"});
    out.figures.push_back(
        {work, "acquiring, each", found[acquiring] / 1000, "µs", std::nullopt, "for scale"});
}

} // namespace bench
