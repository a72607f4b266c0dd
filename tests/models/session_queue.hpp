#pragma once

// Like ZooKeeper: sessions, and in each name's queue ephemeral nodes in the order of their making.
//
//   queue of one name:   [ 17 s1 granted ] [ 21 s2 ] [ 22 s1 ] …      fence = the number of the
//   node
//
//   attempt   makes a node, unless this nonce has one in this very session; granted as soon as it
//   fits
//             beside all that are granted and all before it
//   then      the grant is pushed; asking again finds it too
//   silence   a session that was not heard of for its ttl is over, and its nodes with it
//
// A bond is a session: renewing it is a ping, and every other request is one as well. Messages
// travel in order over a connection; when it breaks, what was on its way may have been done or not,
// and what the server pushes meanwhile is never heard. Worse than reality: a session may end up to
// `margin` early.

#include "models/client_side.hpp"

#include <map>
#include <string>
#include <vector>

namespace holdfast::models {

class session_queue_server final : public server {
public:
    session_queue_server(machine_room& room, duration session_ttl)
        : room_{room}, ttl_{session_ttl} {}

    void receive(const request&) override;
    void restart(memory) override {} // an ensemble: some other member goes on
    void take_away(const std::string& name) override;
    [[nodiscard]] bool backs(const claim&) override;
    [[nodiscard]] std::size_t remembers(std::optional<process_id>) override;

private:
    struct session {
        process_id of{};
        duration touched{};
        duration early{}; // how much too early it will be ended
        bool alive = true;
    };
    struct node {
        std::shared_ptr<const claim> by;
        process_id from;
        session_id owner;
        holdfast::fence fence;
        bool granted = false;
    };
    struct queue {
        std::vector<node> nodes;
        std::int64_t last_granted = 0;
        bool taken_over = false;
    };

    bool touch(const request&);
    void watch(session_id);
    void end(session_id);
    reply execute(const request&);
    reply attempt(queue&, const request&);
    reply remove(queue&, const request&);
    void promote(queue&, const nonce* asking);
    [[nodiscard]] fence next_fence(const claim&);
    [[nodiscard]] static bool admitted(const queue&, const node&);
    [[nodiscard]] session_id newest_session_of(process_id) const;
    [[nodiscard]] static node* find(queue&, const nonce&);

    machine_room& room_;
    const duration ttl_;
    std::int64_t last_number_ = 0; // zxid
    std::map<session_id, session> sessions_;
    std::map<std::string, queue> queues_;
};

class session_queue_client final : public client_side {
public:
    static constexpr models::transport transport = models::transport::connection;

    session_queue_client(surroundings& around, process_id me, duration session_ttl)
        : client_side{around, me}, ttl_{session_ttl} {}

    [[nodiscard]] static duration margin(duration session_ttl) { return session_ttl / 20; }

    using client_side::receive;
    void receive(const push&) override;
    void renew(const call&, std::span<const bond_id>) override;
    void forget(bond_id) override;
    [[nodiscard]] const capabilities& able() const noexcept override;

protected:
    void stamp(request& r) override { r.session = current_.id; }
    [[nodiscard]] bond_id bond_for(const asked& a) override { return a.what.session; }
    [[nodiscard]] bond_terms terms(bond_id, instant anchor, const claim*) const override;
    [[nodiscard]] bool places_are_leases() const override { return true; }
    void answered(const asked&, const reply&) override;
    void left_unanswered(const asked&) override { around_.reconnect(); }

private:
    struct ours {
        session_id id{};
        instant anchor{}; // when the last request was sent that the server has answered
    };
    [[nodiscard]] session_id next_session();
    void session_over();

    const duration ttl_;
    std::uint32_t made_ = 0;
    ours current_{next_session(), {}};
    ours former_;
};

} // namespace holdfast::models
