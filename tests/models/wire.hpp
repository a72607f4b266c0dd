#pragma once

// What a model consists of, and what it sees of the world around it.
//
//   the core ──▶ client side ── request ──▶ ~ ~ network ~ ~ ──▶ server side
//            ◀── (a backend) ◀── reply, push ── ~ ~ ~ ~ ~ ~ ◀──
//
// Each process has a client side of its own; there is one server. The network is the world's: it
// loses, delays and doubles what it carries, as the world pleases.

#include "models/chance.hpp"
#include "models/sighting.hpp"
#include "models/zookeeper_words.hpp"

#include <holdfast/backend.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::models {

/// One simulated process; a number is never used again.
enum class process_id : std::uint32_t {};

/// A ZooKeeper-like session, which is a bond at the same time.
using session_id = bond_id;

struct request {
    enum class verb : std::uint8_t {
        attempt,
        withdraw,
        release,
        renew,
        close_session,
        raise,
        spoken
    };
    verb what{};
    process_id from{};
    ticket number{}; // its reply carries the same
    session_id session{};
    std::shared_ptr<const claim> about{};
    joining join = joining::none;
    std::vector<std::shared_ptr<const claim>> all{}; // to be renewed
    holdfast::fence least{};                         // of a raise
    std::shared_ptr<const words> says{};             // to a ZooKeeper server
};

struct reply {
    enum class kind : std::uint8_t {
        granted,
        contended,
        failed,
        expired,
        withdrawn,
        released,
        lost,
        renewed,
        raised,
        not_raised,
        spoken
    };
    kind what{};
    ticket number{};
    holdfast::fence fence{};
    std::uint32_t reserved = 0;
    std::uint32_t place = 0;
    duration retry_after = forever;
    applied certainty = applied::maybe;
    std::vector<bool> still_held{};       // for a renewal, in the order of asking
    std::shared_ptr<const saying> says{}; // by a ZooKeeper server
};

/// What a server says unasked; or the network, of a connection that broke.
struct push {
    enum class kind : std::uint8_t { woken, granted, wanted, taken, session_gone, broken };
    kind what{};
    nonce whose{};
    holdfast::fence fence{};
    session_id session{};
};

/// What a client side needs: its process's clock and timers, and a way to the server.
class surroundings {
public:
    [[nodiscard]] virtual instant now() const = 0;
    virtual void call_at(instant, std::function<void()>) = 0; // not while the process is stopped
    virtual void send(request) = 0;
    virtual void reconnect() = 0; // what was on its way may arrive, but nothing comes back any more
    [[nodiscard]] virtual bool refuses(const request&) = 0; // the server is away: it was not sent
    virtual void saw(sighting) = 0;

protected:
    ~surroundings() = default;
};

/// What a server needs: its own clock and timers, and a way to the processes.
class machine_room {
public:
    [[nodiscard]] virtual duration now() = 0; // since its epoch; may run fast or slow
    virtual void call_after(duration, std::function<void()>) = 0;
    virtual void send(process_id, reply) = 0;
    virtual void send(process_id, const push&) = 0;
    [[nodiscard]] virtual chance& luck() = 0;
    virtual void saw(sighting) = 0;

    /// The truth, for those who check it: a new grant, in the order in which they are made.
    virtual void granted(const claim&, process_id, fence, std::uint32_t reserved) = 0;

protected:
    ~machine_room() = default;
};

enum class memory : std::uint8_t { kept, wiped };

class server {
public:
    virtual ~server() = default;
    virtual void receive(const request&) = 0;
    virtual void restart(memory) = 0;
    virtual void take_away(const std::string& name) = 0; // an operator's act

    // For those who know everything.
    /// Whether a grant to this very nonce is in force, lock delay not counted.
    [[nodiscard]] virtual bool backs(const claim&) = 0;
    /// How many grants and places it keeps: of one process, or of all.
    [[nodiscard]] virtual std::size_t remembers(std::optional<process_id>) = 0;
};

/// How a model uses the network.
enum class transport : std::uint8_t {
    datagrams,  ///< each message on its own: lost, late, doubled, overtaken
    statements, ///< each request on its own, never doubled
    connection, ///< in order; what is lost breaks the connection
};

} // namespace holdfast::models
