#pragma once

// Locks on ZooKeeper, in the nodes of Curator.
//
//   the core ─ verbs ─▶ machine (decides, under one mutex) ─ operations ─▶ handle (one session) ─▶
//   servers
//            ◀─ events ─                                   ◀─ replies, watches, states ─
//
// The session is the bond: its heartbeat is a write, because only the leader ends sessions, and a
// server that is cut off from it answers pings all the same.
//
// Threads: verbs come on the caller's, replies on the session's, times on the client's loop. A lane
// of our own does what operators ask for. Sessions are opened and closed beside all of that,
// because both may take seconds.

#include "backends/zookeeper/handle.hpp"
#include "backends/zookeeper/machine.hpp"
#include "runtime/lane.hpp"

#include <holdfast/backend.hpp>
#include <holdfast/zookeeper.hpp>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

namespace holdfast::zookeeper {

class zookeeper_backend final : public backend, private listener {
public:
    explicit zookeeper_backend(options);
    ~zookeeper_backend() override;

    const capabilities& able() const noexcept override;
    void start(backend_events&) override;
    void attempt(const call&, const std::shared_ptr<const claim>&, joining) override;
    void withdraw(const call&, const std::shared_ptr<const claim>&) override;
    void release(const call&, const std::shared_ptr<const claim>&, const grant&) override;
    void renew(const call&, std::span<const bond_id>) override;
    void forget(bond_id) override;
    void inspect(const call&, const std::string& pattern) override;
    void examine(const call&) override;
    void force_release(const call&, const std::string& name) override;
    void ask_release(const call&, const std::string& name) override;
    void close(instant by) override;

    int background_descriptor() const noexcept override { return timer_; }
    void on_background() override;

private:
    void connected(bond_id, std::int64_t session, duration granted) override;
    void suspended(bond_id) override;
    void read_only(bond_id) override;
    void expired(bond_id) override;
    void unreachable(bond_id, const failure&) override;
    void replied(op_id, reply&&) override;
    void noticed(op_id, seen) override;

    template <class F> void decide(F);
    void carry_out(actions&, instant now);
    void tell(actions&);
    void arm(instant);
    void open(bond_id);
    void end(std::shared_ptr<handle>);
    void find_out_why(bond_id);

    // Operators: these wait, on a lane of their own.
    [[nodiscard]] reply ask(decltype(operation::what), instant by);
    template <class F> [[nodiscard]] bool wait_until(F is_so, instant by);
    [[nodiscard]] std::optional<failure> why_not_connected(instant by);
    struct inspection;
    void with_holders(const call&,
                      const std::string& name,
                      std::function<decltype(operation::what)(std::string path)>);

    const options how_;
    const int timer_;
    backend_events* events_ = nullptr;

    std::mutex guard_;
    std::condition_variable changed_; // connected, or an operator's answer came
    machine machine_;
    std::shared_ptr<handle> session_;
    std::vector<std::weak_ptr<handle>> ending_;
    instant armed_ = never;
    bool closed_ = false;
    bool finding_out_ = false;
    std::uint64_t last_ask_ = 0;
    std::unordered_map<std::uint64_t, std::optional<reply>> asks_;

    detail::lane operators_;
};

} // namespace holdfast::zookeeper
