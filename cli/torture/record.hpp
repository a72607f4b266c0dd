#pragma once

// What one worker did with one lock once: who asked when, what it was told, how long it believed.
//
//   asked ──▶ acquired ═══ believes ═══▶ ended (release called, or the loss seen), or its deadline,
//                                        or its death: whichever comes first
//
// Written while it happens, by one thread, into memory that survives the writer's kill -9. Instants
// are nanoseconds of CLOCK_BOOTTIME, which all processes of a machine share; 0: has not happened.

#include <algorithm>
#include <cstdint>
#include <limits>

namespace holdfast::cli::ordeal {

/// Nanoseconds of CLOCK_BOOTTIME.
using tick = std::int64_t;
inline constexpr tick never = std::numeric_limits<tick>::max();

/// The locks of a run. The counter without a fence has two: one for the time in which nobody is
/// paused, so that it can be told apart what only a pause may do.
enum class place : std::uint8_t { steady_counter, paused_counter, vault, permits, readers_writers };
inline constexpr int places = 5;

enum class sharing_mode : std::uint8_t { exclusive, shared, permit };

enum class outcome : std::uint8_t {
    waiting,   ///< asked, not answered; as long as that, or until it died
    contended, ///< waited as long as it wanted to
    failed,    ///< an error of the engine
    held,      ///< got it, and has not given it back
    released,
    lost,    ///< saw that it had ended, or was told so on release
    unknown, ///< the release was not answered
};

/// What it did to the thing that the lock protects.
enum class effect : std::uint8_t {
    none,
    writing, ///< about to; it may have happened
    written, ///< certainly
    refused, ///< the vault has seen a larger fence
};

struct record {
    tick asked = 0;
    tick acquired = 0;
    tick deadline = 0; ///< as last seen
    tick ended = 0;    ///< before release was called, or when the loss was seen
    tick wrote = 0;    ///< after the write
    std::int64_t fence = 0;
    std::int64_t read = 0; ///< what it found; it wrote one more
    ordeal::place place = place::steady_counter;
    sharing_mode mode = sharing_mode::exclusive;
    ordeal::outcome outcome = outcome::waiting;
    ordeal::effect effect = effect::none;
    std::uint32_t thread = 0;
};
static_assert(sizeof(record) == 64);

/// A record, and whose it is.
struct attempt : record {
    std::uint32_t worker = 0;
    std::int64_t pid = 0;
    tick died = never; ///< not before this

    [[nodiscard]] bool held() const noexcept {
        return acquired != 0 && believed_until() > acquired;
    }

    [[nodiscard]] tick believed_until() const noexcept {
        return std::min({deadline, ended == 0 ? never : ended, died});
    }

    /// Until when it waited, if it never got it.
    [[nodiscard]] tick waited_until() const noexcept {
        return acquired != 0 ? acquired : std::min(ended == 0 ? never : ended, died);
    }
};

} // namespace holdfast::cli::ordeal
