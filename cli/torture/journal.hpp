#pragma once

// The records of one worker process, in memory that it shares with the conductor.

#include "../offspring.hpp"
#include "record.hpp"

#include <atomic>
#include <cstddef>
#include <vector>

namespace holdfast::cli::ordeal {

class journal {
public:
    journal() : memory_{sizeof(header) + capacity * sizeof(record)} {}
    explicit journal(shared_memory memory) : memory_{std::move(memory)} {}

    /// A new record, or nullptr if there is no room for another.
    [[nodiscard]] record* add() noexcept;

    [[nodiscard]] std::size_t size() const noexcept;

    /// Of a worker that does not write any more.
    [[nodiscard]] std::vector<record> all() const;

    /// Whether one of the last records says that its writer holds this; it may be over by now.
    [[nodiscard]] bool holds(place) const noexcept;

    [[nodiscard]] int descriptor() const noexcept { return memory_.descriptor(); }

    static constexpr std::size_t capacity = std::size_t{1} << 22U;

private:
    struct header {
        std::atomic<std::size_t> used;
    };
    [[nodiscard]] header& top() const noexcept { return *static_cast<header*>(memory_.start()); }
    [[nodiscard]] record* first() const noexcept;

    shared_memory memory_;
};

/// A store that nothing later overtakes: whoever is killed after it has it written.
template <class T> void note(T& where, T what) noexcept {
    std::atomic_ref<T>{where}.store(what, std::memory_order_release);
}

} // namespace holdfast::cli::ordeal
