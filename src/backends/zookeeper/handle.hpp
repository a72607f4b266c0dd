#pragma once

// One session with ZooKeeper: the official C client, of which only this file and its .cpp know.
//
// The client has two threads of its own; everything is asked without waiting, and answers and
// events come on the second of them. Nothing that waits may be called there: what we are told is
// told on.

#include "backends/zookeeper/operation.hpp"
#include "backends/zookeeper/outbox.hpp"

#include <holdfast/backend.hpp>
#include <holdfast/zookeeper.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

struct _zhandle;
struct zoo_op_result;

namespace holdfast::zookeeper {

/// Who is told. Each call comes on the session's own thread, with no lock held.
class listener {
public:
    virtual void connected(bond_id, std::int64_t session, duration granted) = 0;
    virtual void suspended(bond_id) = 0;
    virtual void read_only(bond_id) = 0;
    virtual void expired(bond_id) = 0;
    virtual void unreachable(bond_id, const failure&) = 0;
    virtual void replied(op_id, reply&&) = 0;
    virtual void noticed(op_id, seen) = 0;

protected:
    ~listener() = default;
};

class handle {
public:
    handle(const options&, bond_id, listener&);
    handle(const handle&) = delete;
    handle& operator=(const handle&) = delete;
    ~handle(); ///< closed before, on a thread that may wait

    /// Begins to connect. Looks up names, again and again if they are not known, so it may wait:
    /// until it is closed.
    void open();

    /// At once, or a little later together with others. False: nothing was sent, and no reply will
    /// come.
    [[nodiscard]] bool send(const operation&);

    /// Nobody is told anything any more.
    void fall_silent();

    /// Ends the session, or leaves it to its time-out if the servers do not answer: then this takes
    /// seconds.
    void close();

    [[nodiscard]] bond_id bond() const noexcept { return bond_; }

private:
    struct callbacks; ///< what the C client calls
    struct context {
        context(handle*, op_id, bool is_watch);
        ~context();
        handle* const of;
        const op_id id;
        const bool is_watch;
        bool changes_something = false;
        std::unique_ptr<zoo_op_result> result; ///< of a beat, written when the answer comes
    };
    struct group; ///< operations that are carried out together or not at all

    [[nodiscard]] bool begin();
    [[nodiscard]] context* remember(op_id, bool is_watch);
    void forget(context*);
    void complete(context*, reply&&);
    [[nodiscard]] bool send_one(const operation&);
    [[nodiscard]] bool send_together(const std::vector<operation>&);
    void send_each(const std::vector<operation>&, std::vector<op_id>& lost);
    void on_done_together(group&, int rc);
    void on_seen_together(group&, const reply&);
    [[nodiscard]] std::vector<op_id> send_what_waits();
    void lose(const std::vector<op_id>&);
    void on_session(_zhandle*, int state);
    void greet(_zhandle*);
    template <class F> void tell(F);

    const options how_;
    const bond_id bond_;
    std::mutex telling_;
    listener* listener_; ///< null: it has fallen silent

    std::mutex opening_; ///< open() or close(), one at a time: neither finds half a session
    std::mutex guard_;
    std::condition_variable ended_; ///< closed_ is true
    _zhandle* zh_ = nullptr;
    bool closed_ = false;
    std::atomic<bool> authenticated_ = false;
    outbox outbox_;
    std::unordered_map<std::uint64_t, std::unique_ptr<context>> calls_;
    std::unordered_map<const group*, std::unique_ptr<group>> groups_;
    std::unordered_map<std::uint64_t, std::unique_ptr<context>> watches_;
};

} // namespace holdfast::zookeeper
