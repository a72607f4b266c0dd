#pragma once

// Letting others go first. Redis keeps no queue of waiters, so whoever lets go and asks again in
// the same breath would win for ever: the news of the release is still under way to the others.
//
//   released, others listen ──▶ YIELDING ── somebody else has released, or 2 ms ──▶ ask
//                                  │
//                                  └── meanwhile our own attempts are "contended" without asking
//
// That others listen is known from the number that the last release reached.

#include <holdfast/clock.hpp>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>
#include <unordered_map>

namespace holdfast::redis {

class manners {
public:
    void releasing(const std::string& channel, instant now) {
        const std::lock_guard lock{guard_};
        const auto found = channels_.find(channel);
        if (found == channels_.end())
            return;
        if (found->second.others_until <= now) {
            channels_.erase(found);
            return;
        }
        found->second.yields_until = now + longest_yield;
        found->second.heard = 0;
    }

    /// The release was heard by others than ourselves.
    void others_listen(const std::string& channel, instant now) {
        const std::lock_guard lock{guard_};
        if (channels_.size() > most_channels)
            std::erase_if(channels_, [&](const auto& c) { return c.second.others_until <= now; });
        channels_[channel].others_until = now + remembered;
    }

    /// Whether somebody heard of a release lately.
    [[nodiscard]] bool others_listened(const std::string& channel, instant now) {
        const std::lock_guard lock{guard_};
        const auto found = channels_.find(channel);
        return found != channels_.end() && found->second.others_until > now;
    }

    /// A release was announced. The first is our own; the next is that of one who was let go first.
    void heard(const std::string& channel, instant now) {
        const std::lock_guard lock{guard_};
        const auto found = channels_.find(channel);
        if (found != channels_.end() && found->second.yields_until > now &&
            ++found->second.heard > 1)
            found->second.yields_until = {};
    }

    /// How long to let others go first; zero: not at all.
    [[nodiscard]] duration yields(const std::string& channel, instant now) {
        const std::lock_guard lock{guard_};
        const auto found = channels_.find(channel);
        return found == channels_.end()
                   ? duration::zero()
                   : std::max(found->second.yields_until - now, duration::zero());
    }

    [[nodiscard]] bool idle() {
        const std::lock_guard lock{guard_};
        return channels_.empty();
    }

private:
    static constexpr duration longest_yield = std::chrono::milliseconds{2};
    static constexpr duration remembered = std::chrono::seconds{1};
    static constexpr std::size_t most_channels = 1000;

    struct state {
        instant others_until{};
        instant yields_until{};
        int heard = 0;
    };
    std::mutex guard_;
    std::unordered_map<std::string, state> channels_;
};

} // namespace holdfast::redis
