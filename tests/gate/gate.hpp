#pragma once

// A gate in front of a real server: a TCP proxy that does to the traffic what a test says, live.
//
//   client ──▶ port() ═╦═ to_server ═▶ server
//          ◀───────────╩═ to_client ══╝            each direction of each connection is a lane
//
// A lane passes bytes, holds them until it passes again, or drops them, each with or without a
// delay; a connection can be cut now, after some bytes, or when some bytes are seen. To reorder two
// messages, hold the lane of the one while the other passes.
//
// One thread owns everything. A call returns when the thread has done what it asks, so no byte that
// arrives afterwards meets the old rules.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>

namespace holdfast::servers {

enum class direction { to_server, to_client };

/// How a connection ends for those who are connected.
enum class ending { closed, reset };

/// Whether what made the cut happen still arrives. If so, it is read by the other side before the
/// end, and nothing that this side says in return comes back: done, but unanswered.
enum class last_bytes { lost, delivered };

/// The connections that a rule is for: one, by the order of arrival from 0, also if it is yet to
/// come; or all, also those to come.
using connection_number = std::size_t;
inline constexpr connection_number all_connections = std::numeric_limits<std::size_t>::max();

class gate {
public:
    explicit gate(std::uint16_t server_port);
    gate(const gate&) = delete;
    gate& operator=(const gate&) = delete;
    ~gate();

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

    void pass(direction, connection_number = all_connections); ///< and what was held goes out first
    void hold(direction, connection_number = all_connections);
    void drop(direction, connection_number = all_connections); ///< also what was held

    /// Of what arrives from now on; zero ends it.
    void delay(direction, std::chrono::milliseconds, connection_number = all_connections);

    void cut(ending = ending::reset, connection_number = all_connections); ///< those there now
    void cut_after(direction,
                   std::uint64_t more_bytes,
                   ending = ending::reset,
                   connection_number = all_connections);

    /// When these bytes are seen. What came with them in one piece shares their fate. Once: whoever
    /// connects again and repeats it gets through. An empty text forgets the rule.
    void cut_at(direction,
                const std::string& text,
                last_bytes,
                ending = ending::reset,
                connection_number = all_connections);

    void refuse(); ///< new connections, as a port does where nobody listens
    void admit();
    void lead_to(std::uint16_t server_port); ///< new connections

    [[nodiscard]] std::size_t connections() const; ///< that ever came in
    [[nodiscard]] std::size_t open_connections() const;
    [[nodiscard]] std::size_t cuts() const; ///< that cut_after and cut_at have made

    /// That came into the lane, whatever became of them; and that went out of it.
    [[nodiscard]] std::uint64_t bytes_seen(direction, connection_number = all_connections) const;
    [[nodiscard]] std::uint64_t bytes_passed(direction, connection_number = all_connections) const;

private:
    class keeper;
    void tell(const std::function<void(keeper&)>&) const;

    std::uint16_t port_ = 0;
    std::unique_ptr<keeper> keeper_;
    std::thread thread_;
};

} // namespace holdfast::servers
