#pragma once

// What happens next, in virtual time: a heap ordered by (time, order of asking). Nothing else
// decides the order, so a seed tells the same story twice.

#include "models/wire.hpp"

#include <holdfast/clock.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace holdfast::simulation {

/// True time since the beginning of the world, which nobody in it can read.
using tau = duration;

using models::process_id;

/// To nobody in particular: the server, the vault, the faults.
inline constexpr process_id the_world{0};

/// Where in a process something arrives. A process that was stopped finds all of it at once: each
/// lane in its order, the lanes against each other in any.
enum class lane : std::uint8_t { network, timers, application };
inline constexpr std::size_t lanes = 3;

struct happening {
    tau when{};
    std::uint64_t order = 0;
    process_id to = the_world;
    simulation::lane lane = simulation::lane::network;
    std::function<void()> what;
};

class timeline {
public:
    void at(tau when, process_id to, lane where, std::function<void()> what) {
        heap_.push_back({std::max(when, now_), ++asked_, to, where, std::move(what)});
        std::push_heap(heap_.begin(), heap_.end(), later);
    }

    [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
    [[nodiscard]] tau now() const noexcept { return now_; }
    [[nodiscard]] tau next() const noexcept { return heap_.front().when; }

    /// Moves time forward to the next happening and takes it off.
    [[nodiscard]] happening take() {
        std::pop_heap(heap_.begin(), heap_.end(), later);
        happening next = std::move(heap_.back());
        heap_.pop_back();
        now_ = next.when;
        return next;
    }

private:
    [[nodiscard]] static bool later(const happening& a, const happening& b) noexcept {
        return a.when != b.when ? a.when > b.when : a.order > b.order;
    }

    std::vector<happening> heap_;
    tau now_{};
    std::uint64_t asked_ = 0;
};

} // namespace holdfast::simulation
