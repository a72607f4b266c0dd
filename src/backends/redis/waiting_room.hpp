#pragma once

// Requests that nobody knows a server for yet: while the sentinels or the cluster are being asked.

#include "backends/redis/directory.hpp"

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::redis {

class waiting_room {
public:
    struct guest {
        server::way way{};
        std::string key, bytes;
        instant answer_by{};
        on_answer done;
    };

    void enter(guest g) {
        const std::lock_guard lock{guard_};
        guests_.push_back(std::move(g));
    }

    [[nodiscard]] std::vector<guest> empty_out() {
        const std::lock_guard lock{guard_};
        return std::exchange(guests_, {});
    }

    /// Tells those whose time is over why nobody came for them. Nothing of theirs was sent.
    void turn_out(instant now, failure why) {
        why.applied = applied::no;
        std::vector<guest> late;
        {
            const std::lock_guard lock{guard_};
            const auto stay = std::stable_partition(
                guests_.begin(), guests_.end(), [&](const guest& g) { return g.answer_by > now; });
            late.assign(std::make_move_iterator(stay), std::make_move_iterator(guests_.end()));
            guests_.erase(stay, guests_.end());
        }
        for (const auto& one : late)
            one.done({}, &why);
    }

    [[nodiscard]] instant next() const {
        const std::lock_guard lock{guard_};
        auto first = never;
        for (const auto& one : guests_)
            first = std::min(first, one.answer_by);
        return first;
    }

private:
    mutable std::mutex guard_;
    std::vector<guest> guests_;
};

} // namespace holdfast::redis
