#include "servers/ports.hpp"
#include "cli/program.hpp"

#include <netinet/in.h>
#include <random>
#include <stdexcept>
#include <sys/socket.h>

namespace holdfast::servers {
namespace {

// Below the ports that the kernel gives to outgoing connections, so that none of these takes the
// port while its server is being restarted; a cluster's second port, 10000 higher, is there too.
constexpr std::uint16_t first_port = 10'000;
constexpr std::uint16_t last_port = 19'999;
constexpr std::uint16_t to_cluster_bus = 10'000;

bool is_free(std::uint16_t port) {
    const cli_tests::descriptor one{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    const int yes = 1;
    ::setsockopt(one.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(port);
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return ::bind(one.number(), reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0;
}

} // namespace

std::uint16_t free_port() {
    std::random_device chance;
    std::uniform_int_distribution<int> any{first_port, last_port};
    for (int tries = 0; tries < 1000; ++tries) {
        const auto port = static_cast<std::uint16_t>(any(chance));
        if (is_free(port) && is_free(port + to_cluster_bus))
            return port;
    }
    throw std::runtime_error{"no free port"};
}

} // namespace holdfast::servers
