#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/fence.hpp>

#include <cstdint>
#include <string_view>

namespace holdfast {

/// What happened. `name` is a lock's, or empty where the event concerns the engine as a whole.
struct event {
    enum class kind : std::uint8_t {
        waiting,   ///< an acquisition was told "contended" and waits
        granted,   ///< the engine granted
        passed,    ///< a lease was handed on inside this process
        released,  ///< given back
        in_doubt,  ///< a renewal was not answered; still held until the deadline
        renewed,   ///< certain again after being in doubt
        lost,      ///< ended without our release
        unknown,   ///< a request got no answer
        withdrawn, ///< a claim nobody wants any more was taken back
        link,      ///< the connection to the engine changed
        notice,    ///< something an operator should read
    };
    kind what;
    std::string_view name;
    holdfast::fence fence;
    instant at;
    std::string_view detail; ///< one sentence, or empty
};

/// Told of everything that matters. Called on the client's callback lane, one event at a time, in
/// order; it may be slow without harm to renewals. The views end with the call.
class observer {
public:
    virtual ~observer() = default;
    virtual void on(const event&) = 0;
};

} // namespace holdfast
