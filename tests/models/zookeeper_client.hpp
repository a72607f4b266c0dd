#pragma once

// The other end: what the C client does between the engine's machine and a server, and nothing of
// its own.
//
//   one connection at a time; a ping after a third of the session's time in silence; broken after
//   two thirds without a word. The news of a break comes a moment later than the break: what the
//   machine says meanwhile goes out on the next connection.

#include "backends/zookeeper/machine.hpp"
#include "backends/zookeeper/outbox.hpp"
#include "models/client_side.hpp"

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace holdfast::models {

class zookeeper_client final : public client_side {
public:
    static constexpr models::transport transport = models::transport::connection;

    zookeeper_client(surroundings&, process_id, const zookeeper::rules&);

    void start(backend_events&) override;
    void attempt(const call&, const std::shared_ptr<const claim>&, joining) override;
    void withdraw(const call&, const std::shared_ptr<const claim>&) override;
    void release(const call&, const std::shared_ptr<const claim>&, const grant&) override;
    void renew(const call&, std::span<const bond_id>) override;
    void forget(bond_id) override;
    [[nodiscard]] const capabilities& able() const noexcept override;

    void receive(const reply&) override;
    void receive(const push&) override;

protected:
    [[nodiscard]] bond_id bond_for(const asked&) override { return {}; }
    [[nodiscard]] bond_terms terms(bond_id, instant, const claim*) const override { return {}; }

private:
    enum class state : std::uint8_t { down, connecting, up };

    // What the machine wants.
    template <class F> void decide(F);
    void perform(zookeeper::actions&);
    void say(const zookeeper::operation&);
    void transmit(const zookeeper::operation&);
    void settle(const zookeeper::operation&);
    void lose(const std::deque<zookeeper::operation>&);
    void open(bond_id);
    void close();
    void arm();

    // The connection.
    void connect();
    void connect_after(duration);
    void broken();
    void lose_unsent();
    void keep_alive();
    void send(words);

    // What comes in, in order.
    void heard(const welcome&);
    void heard(const session_over&);
    void heard(const hung_up&);
    void heard(const pong&) {}
    void heard(const answer&);
    void heard(const watch_event&);
    void deliver(std::function<void()>, duration after = {});
    void deliver_all();

    const duration timeout_;
    zookeeper::machine machine_;
    bond_id bond_{};
    state state_ = state::down;
    std::int64_t session_ = 0;
    std::int64_t seen_ = 0;
    duration granted_{};
    std::uint64_t connection_ = 0; // counts tries
    instant last_heard_{};
    instant last_sent_{};
    zookeeper::outbox outbox_;
    std::deque<zookeeper::operation> unsent_;
    std::deque<zookeeper::operation> sent_;
    std::map<std::string, std::vector<zookeeper::op_id>> data_watches_;
    std::map<std::string, std::vector<zookeeper::op_id>> child_watches_;

    std::deque<std::function<void()>> inbox_;
    bool delayed_ = false;
    std::uint64_t breaks_ = 0;
    instant armed_ = never;
    std::uint64_t alarm_ = 0;
};

} // namespace holdfast::models
