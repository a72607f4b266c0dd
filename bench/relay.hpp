#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace bench {

/// Stands between clients and a server of this machine, and counts their round trips: how often a
/// client speaks after it was answered. What it says before the answer comes belongs to one trip.
class relay {
public:
    explicit relay(std::uint16_t to_port);
    ~relay();
    relay(const relay&) = delete;
    relay& operator=(const relay&) = delete;

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    [[nodiscard]] std::uint64_t trips() const noexcept { return trips_; }
    [[nodiscard]] std::size_t most_lines() const noexcept { return most_lines_; } ///< at once

private:
    void work();

    std::uint16_t to_port_, port_ = 0;
    int listener_ = -1, stop_[2] = {-1, -1};
    std::atomic<std::uint64_t> trips_{0};
    std::atomic<std::size_t> most_lines_{0};
    std::thread thread_;
};

} // namespace bench
