#pragma once

// One stream to a server, never blocking: TCP or a Unix socket, in the clear or under TLS.
//
//   begin() ──▶ CONNECTING ──▶ (HANDSHAKING) ──▶ OPEN ──▶ closed
//
// Reading and writing may happen at once, on two threads; under TLS they take turns by themselves.

#include "runtime/address.hpp"

#include <holdfast/redis.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <sys/socket.h>

namespace holdfast::redis {

using detail::addresses_of;
using detail::endpoint;
using detail::is_numeric;
using detail::socket_address;

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
