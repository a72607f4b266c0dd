#pragma once

// What holders really did, written into a file that all processes map: it survives kill -9.
//
//   entry:   fence │ entered │ last seen holding │ left        instants of the boot clock, which is
//                                                              one clock for all processes
//
// Checked afterwards, sorted by `entered`: nobody entered before the one before was last seen
// holding, and the fences grow. A holder that was killed has no `left`; what it did until then
// counts.

#include <holdfast/clock.hpp>
#include <holdfast/lease.hpp>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::conformance {

struct hold_entry {
    std::atomic<std::int64_t> fence{0};
    std::atomic<std::int64_t> entered{0};
    std::atomic<std::int64_t> last_held{0};
    std::atomic<std::int64_t> left{0};
};

class witness {
public:
    static constexpr std::size_t capacity = 100'000;

    /// Makes the file if it is not there yet.
    explicit witness(const std::string& path);
    ~witness();
    witness(const witness&) = delete;
    witness& operator=(const witness&) = delete;

    /// Called with a fresh lease; keeps asking for a few microseconds whether it is held.
    void testify(const lease&, int questions);

    struct verdict {
        std::size_t holds = 0;       ///< how many there were
        std::size_t cut_short = 0;   ///< by the death of the holder
        std::size_t overlaps = 0;    ///< two at once
        std::size_t regressions = 0; ///< a fence that is not larger than the one before
    };
    [[nodiscard]] verdict judge() const;

private:
    struct page {
        std::atomic<std::size_t> used{0};
        hold_entry entries[capacity];
    };
    page* page_ = nullptr;
};

} // namespace holdfast::conformance
