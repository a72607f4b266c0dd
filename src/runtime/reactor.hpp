#pragma once

// The descriptors of one backend behind one: whoever waits for the backend watches that one, and
// then lets it do what is due. Several threads may do so at once.

#include <holdfast/clock.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace holdfast::detail {

/// What a reactor looks after. Called with no lock of the reactor held.
class attended {
public:
    virtual void on_ready(bool readable, bool writable) = 0;
    virtual void on_unwatched() {}            ///< the loop will not say on_ready() for a while
    virtual instant on_time(instant now) = 0; ///< answers when to come again

protected:
    ~attended() = default;
};

class reactor;

/// Somebody who is told of time alone, for as long as he keeps this.
class ticker {
public:
    ticker(std::shared_ptr<reactor>, std::function<instant(instant now)> on_time);
    ~ticker();
    ticker(const ticker&) = delete;
    ticker& operator=(const ticker&) = delete;

private:
    struct face;
    const std::shared_ptr<reactor> reactor_;
    const std::shared_ptr<face> face_;
    const std::uint64_t id_;
};

class reactor {
public:
    using id = std::uint64_t;

    reactor();
    ~reactor();
    reactor(const reactor&) = delete;
    reactor& operator=(const reactor&) = delete;

    [[nodiscard]] int descriptor() const noexcept { return epoll_; }

    /// It is told of time from now on, and of descriptors that it asks for.
    [[nodiscard]] id attend(std::weak_ptr<attended>);
    void leave(id);

    void watch(id, int fd, bool also_for_writing);
    void change(id, int fd, bool also_for_writing);
    void unwatch(id, int fd);

    /// on_time() at that instant, or earlier.
    void wake_at(instant);

    /// Does what is due now; does not wait.
    void dispatch();

    /// The same, after it has waited for something to do, or for `nudge`, and has said so.
    void wait(int nudge, const std::function<void()>& woken);

    /// Whether the client's loop will dispatch() when there is something to do. Somebody who kept
    /// something back because of that says so, and is told when it is over.
    void watched(bool);
    [[nodiscard]] bool is_watched() const noexcept { return watched_; }
    void keeps_back() noexcept { kept_back_ = true; }

private:
    struct place {
        std::weak_ptr<attended> who;
        int fd = -1;
    };
    [[nodiscard]] std::shared_ptr<attended> find(id);
    [[nodiscard]] std::vector<std::shared_ptr<attended>> everybody();
    void on_timer();

    const int epoll_;
    const int timer_;
    std::mutex guard_;
    id last_id_ = 0;
    std::atomic<instant> armed_{never};
    std::map<id, place> all_;
    id last_ready_ = 0; // the one most likely to be ready next
    std::atomic<std::uint32_t> waits_{0};
    std::atomic<bool> watched_{false};
    std::atomic<bool> kept_back_{false};
};

} // namespace holdfast::detail
