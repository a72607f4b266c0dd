#pragma once

// One connection to one server that hears when something was released. Channels are shared by all
// who wait for the same name, and stay subscribed for a while: whoever contends once contends
// again.
//
// A message is a hint. What was published before the server confirmed the subscription is not
// heard, so whoever asked before that asks once more. So does whoever begins to listen to a channel
// that is open already, if a message came since he asked: it may have overtaken the refusal.
//
// In a cluster a channel belongs to a slot, and moves with it. Whoever listened is woken: he asks
// again, is led to where the slot is now, and listens there.
//
// Where some announce plainly and some sharded, both are listened to, and a channel is heard when
// both are confirmed.

#include "backends/redis/line.hpp"

#include <holdfast/redis.hpp>

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace holdfast::redis {

class listener {
public:
    /// Keeps whoever owns the listener, while it is told something; null if he is gone.
    using alive_while = std::function<std::shared_ptr<const void>()>;

    listener(std::shared_ptr<reactor>,
             line_settings,
             announcing,
             std::function<void(const nonce&)> wake,
             std::function<void(const std::string& channel)> released,
             std::function<void(const std::string& key)> forced,
             alive_while owner = {});

    enum class missed : std::uint8_t { nothing, perhaps };
    /// Tells `who` of every message from now on; also once that can be relied on, if not yet.
    /// `perhaps`: something was announced since he asked, and he was not told.
    missed listen(const std::string& channel, const nonce& who, instant asked);

    /// A channel of one's own is given up at once, a shared one when it has been idle for a while.
    enum class keeping : std::uint8_t { warm, none };
    void stop(const std::string& channel, const nonce& who, keeping);

    /// Whether messages to this channel reach us, too.
    [[nodiscard]] bool hears_of(const std::string& channel) const;

    /// Hears of locks that are taken by force, even if nobody waits for anything.
    void open() { line_->open_now(); }

    void move_to(const endpoint& to) { line_->move_to(to); }
    void close() { line_->close(); }

private:
    struct channel {
        std::vector<nonce> who;
        unsigned confirmed = 0;      // by the server, which of the ways to announce
        instant heard_since = never; // never: not all of them are
        instant last_message{};
        instant idle_since = never;
    };

    void opened();
    void broken();
    void heard(const reply&);
    void unheard(std::string_view channel, unsigned way);
    void moved_away(std::string_view error);
    template <class Which> void drop_and_wake(Which);
    void drop_idle(instant now, std::string& out);
    void append(std::string& out, const char* verb, const std::string& name, unsigned ways) const;

    const unsigned ways_; // plain, sharded, or both
    const std::function<void(const nonce&)> wake_;
    const std::function<void(const std::string&)> released_;
    const std::function<void(const std::string&)> forced_;
    mutable std::mutex guard_;
    std::map<std::string, channel, std::less<>> channels_;
    std::deque<std::string> idle_; // the longest first; some are in use again
    std::shared_ptr<line> line_;
};

} // namespace holdfast::redis
