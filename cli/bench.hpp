#pragma once

#include "inspecting.hpp"

#include <holdfast/clock.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <sys/types.h>

namespace holdfast::cli {

struct bench_options {
    std::string url;                           ///< empty: the default
    duration length = std::chrono::seconds{2}; ///< of each measurement
    std::uint32_t threads = 4;
    std::uint32_t processes = 4;
    cli::format format = format::text;
};

/// `holdfast bench [URL]`.
[[nodiscard]] int bench(const bench_options&);

inline constexpr const char* bench_worker_verb = "bench-worker";

/// The hidden verb: one of the processes that contend for a lock.
[[nodiscard]] int bench_worker(pid_t parent);

} // namespace holdfast::cli
