#pragma once

// One stream to a server, never blocking: TCP or a Unix socket, in the clear or under TLS.
//
//   begin() ──▶ CONNECTING ──▶ (HANDSHAKING) ──▶ OPEN ──▶ closed
//
// Reading and writing may happen at once, on two threads; under TLS they take turns by themselves.

#include <holdfast/redis.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <sys/socket.h>

namespace holdfast::redis {

/// One numeric address, as the kernel wants it.
struct socket_address {
    sockaddr_storage bytes{};
    socklen_t size = 0;
};

struct endpoint {
    std::string host; ///< a name or a number; for a Unix socket its path
    int port = 0;     ///< 0: a Unix socket

    [[nodiscard]] std::string text() const;
    friend auto operator<=>(const endpoint&, const endpoint&) = default;
};

/// The addresses of a host. Asks the system's resolver unless it is a number, and so may block.
[[nodiscard]] std::vector<socket_address> addresses_of(const endpoint&, std::string& problem);
[[nodiscard]] bool is_numeric(const endpoint&);

/// What is needed to speak TLS; shared by all connections of a client.
class tls_context;
[[nodiscard]] std::shared_ptr<tls_context> make_tls_context(const tls_options&);

inline constexpr std::string_view speaks_no_tls =
    "it does not speak TLS: write redis:// instead of rediss://, or leave out tls=yes";

/// Whether a server answers there that does not speak TLS. Blocks.
[[nodiscard]] bool answers_in_the_clear(const socket_address&, duration at_most);

enum class io : std::uint8_t { done, would_block, closed };

class transport {
public:
    /// Begins to connect. `problem` says why not, if there is no descriptor afterwards.
    transport(const socket_address&,
              const std::shared_ptr<tls_context>&,
              const std::string& server_name,
              std::string& problem);
    ~transport();
    transport(const transport&) = delete;
    transport& operator=(const transport&) = delete;

    [[nodiscard]] int descriptor() const noexcept { return fd_; }
    [[nodiscard]] bool reached() const noexcept { return connected_; } ///< if not yet under TLS

    /// Goes on connecting: done once it is open. `wants_to_write` says what to wait for meanwhile.
    [[nodiscard]] io advance(bool& wants_to_write, std::string& problem);

    [[nodiscard]] io read(std::span<char> into, std::size_t& got);
    [[nodiscard]] io write(std::string_view bytes, std::size_t& sent);

private:
    struct tls;
    int fd_ = -1;
    bool connected_ = false;
    std::mutex tls_guard_;
    std::unique_ptr<tls> tls_;
};

} // namespace holdfast::redis
