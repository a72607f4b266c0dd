#pragma once

// Cycles with a clock around each: on this thread, or on many that begin together.

#include "pairs.hpp"

#include <holdfast/mutex.hpp>

#include <algorithm>
#include <chrono>
#include <latch>
#include <thread>

namespace bench {

/// What a user does: both are waited for, and both answers looked at.
inline auto cycle_of(holdfast::mutex& m, std::int64_t& last) {
    return [&m, &last] {
        auto lease = m.acquire();
        const auto fence = lease.fence().value();
        check(fence > last, "the fence grows");
        last = fence;
        check(lease.release() == holdfast::release_result::released, "the release is certain");
    };
}

template <class Cycle> sample timed(std::uint64_t cycles, Cycle cycle) {
    std::vector<float> latencies;
    latencies.reserve(cycles);
    const auto begin = now_ns();
    auto last = begin;
    for (std::uint64_t i = 0; i < cycles; ++i) {
        cycle();
        const auto now = now_ns();
        latencies.push_back(static_cast<float>(now - last));
        last = now;
    }
    return sample_of(static_cast<double>(last - begin) / static_cast<double>(cycles), latencies);
}

/// Each after a pause that is not counted: caches and CPUs have gone to rest, as in a program that
/// does something else in between.
template <class Cycle>
sample timed_after(std::chrono::microseconds pause, std::uint64_t cycles, Cycle cycle) {
    std::vector<float> latencies;
    double sum = 0;
    for (std::uint64_t i = 0; i < cycles; ++i) {
        std::this_thread::sleep_for(pause);
        const auto begin = now_ns();
        cycle();
        latencies.push_back(static_cast<float>(now_ns() - begin));
        sum += latencies.back();
    }
    return sample_of(sum / static_cast<double>(cycles), latencies);
}

/// Too short for a clock reading each: a hundred are one.
template <class Cycle> sample timed_by_hundreds(std::uint64_t cycles, Cycle cycle) {
    auto s = timed(cycles / 100, [&] {
        for (int i = 0; i < 100; ++i)
            cycle();
    });
    return {s.mean_ns / 100, s.p50_ns / 100, s.p99_ns / 100};
}

/// `body(who, latencies)` on so many threads; returns how long all of it took, in ns.
template <class Body>
std::int64_t together(std::size_t threads, std::vector<float>& latencies, Body body) {
    std::latch ready{static_cast<std::ptrdiff_t>(threads) + 1};
    std::vector<std::vector<float>> notes(threads);
    std::vector<std::jthread> all;
    for (std::size_t who = 0; who < threads; ++who)
        all.emplace_back([&, who] {
            ready.arrive_and_wait();
            body(who, notes[who]);
        });
    ready.arrive_and_wait();
    const auto begin = now_ns();
    all.clear();
    const auto took = now_ns() - begin;
    for (const auto& some : notes)
        latencies.insert(latencies.end(), some.begin(), some.end());
    return took;
}

/// `once(who)` is one cycle; each thread does its share of them, and one at least.
template <class Cycle> sample by_threads(std::size_t threads, std::uint64_t cycles, Cycle once) {
    const auto each = std::max<std::uint64_t>(1, cycles / threads);
    std::vector<float> latencies;
    const auto took = together(threads, latencies, [&](std::size_t who, std::vector<float>& notes) {
        notes.reserve(each);
        for (std::uint64_t i = 0; i < each; ++i) {
            const auto begin = now_ns();
            once(who);
            notes.push_back(static_cast<float>(now_ns() - begin));
        }
    });
    return sample_of(static_cast<double>(took) / static_cast<double>(each * threads), latencies);
}

} // namespace bench
