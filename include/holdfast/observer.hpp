#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/fence.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace holdfast {

/// What happened. `name` is a lock's, or empty where the event concerns the engine as a whole.
struct event {
    enum class kind : std::uint8_t {
        waiting,      ///< an acquisition was told "contended" and waits
        granted,      ///< the engine granted
        passed,       ///< a lease was handed on inside this process
        released,     ///< given back
        renewed,      ///< what keeps our leases alive was renewed
        renewed_late, ///< the same, but only after a failed try, or with little time left
        in_doubt,     ///< a renewal was not answered; still held until the deadline
        lost,         ///< ended without our release
        unknown,      ///< a request got no answer
        withdrawn,    ///< a claim nobody wants any more was taken back
        link,         ///< the connection to the engine changed
        notice,       ///< something an operator should read
    };
    static constexpr std::size_t kinds = 12;

    kind what;
    std::string_view name;
    holdfast::fence fence;
    instant at;
    duration took{};         ///< granted, passed: how long it was waited for; released, lost: how
                             ///< long it was held; renewed: how much time had been left
    duration handed_over{};  ///< granted by push: from the engine's decision until we heard of it
    std::string_view detail; ///< one sentence, or empty
};

/// The word for it: "granted".
[[nodiscard]] std::string_view name_of(event::kind) noexcept;

/// Told of everything that matters. Called on the client's callback lane, one event at a time, in
/// order; it may be slow without harm to renewals. The views end with the call.
class observer {
public:
    virtual ~observer() = default;
    virtual void on(const event&) = 0;
};

/// One observer that tells several others, in this order.
[[nodiscard]] std::shared_ptr<observer> all_of(std::vector<std::shared_ptr<observer>>);

} // namespace holdfast
