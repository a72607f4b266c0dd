#pragma once

#include <compare>
#include <string>
#include <sys/socket.h>
#include <vector>

namespace holdfast::detail {

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

} // namespace holdfast::detail
