#pragma once

// What ties the front and the guardian together. Either learns at once when the other is killed:
// the kernel closes the dead one's end.
//
//        signalled · paused · resumed
//   front ──────────────────────────▶ guardian
//         ◀──────────────────────────
//             started · ended · stays

#include <cstdint>
#include <sys/types.h>
#include <utility>

namespace holdfast::cli {

enum class word : std::int32_t {
    nothing, ///< no message is waiting
    gone,    ///< the other one is
    // the front says:
    signalled, ///< somebody sent us this signal (value, who)
    paused,    ///< the job was stopped while we waited: do not start the command yet
    resumed,   ///< it goes on
    // the guardian says:
    started, ///< the command runs
    ended,   ///< all is over and released: end with this code (value)
    stays,   ///< the command ended with this code (value); I stay for what it left running
};

struct message {
    word what = word::nothing;
    std::int32_t value = 0;
    pid_t who = 0;
};

/// One end. It is closed with the object; moving leaves nothing behind.
class tether {
public:
    tether() noexcept = default;
    tether(tether&& other) noexcept : descriptor_{std::exchange(other.descriptor_, -1)} {}
    tether& operator=(tether&& other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }
    ~tether() { cut(); }

    /// Both ends. Throws std::system_error.
    [[nodiscard]] static std::pair<tether, tether> make();

    void say(const message&) const noexcept;
    [[nodiscard]] message hear() const noexcept;
    void cut() noexcept;

    /// -1 after cut(): poll() then looks past it.
    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

private:
    explicit tether(int descriptor) noexcept : descriptor_{descriptor} {}

    int descriptor_ = -1;
};

} // namespace holdfast::cli
