#include "runtime/address.hpp"

#include <arpa/inet.h>
#include <cstring>
#include <netdb.h>
#include <sys/un.h>

namespace holdfast::detail {

std::string endpoint::text() const {
    if (port == 0)
        return host;
    const bool v6 = host.find(':') != std::string::npos;
    return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

bool is_numeric(const endpoint& where) {
    unsigned char bytes[16];
    return where.port == 0 || ::inet_pton(AF_INET, where.host.c_str(), bytes) == 1 ||
           ::inet_pton(AF_INET6, where.host.c_str(), bytes) == 1;
}

std::vector<socket_address> addresses_of(const endpoint& where, std::string& problem) {
    std::vector<socket_address> found;
    if (where.port == 0) {
        sockaddr_un path{};
        path.sun_family = AF_UNIX;
        std::memcpy(path.sun_path, where.host.data(), where.host.size()); // its length was checked
        auto& to = found.emplace_back();
        std::memcpy(&to.bytes, &path, sizeof path);
        to.size = sizeof path;
        return found;
    }
    addrinfo hints{}, *list = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = is_numeric(where) ? AI_NUMERICHOST : AI_ADDRCONFIG;
    const int failed =
        ::getaddrinfo(where.host.c_str(), std::to_string(where.port).c_str(), &hints, &list);
    if (failed != 0) {
        problem = "the host " + where.host + " cannot be found: " + ::gai_strerror(failed);
        return found;
    }
    for (const auto* one = list; one != nullptr; one = one->ai_next) {
        auto& to = found.emplace_back();
        std::memcpy(&to.bytes, one->ai_addr, one->ai_addrlen);
        to.size = one->ai_addrlen;
    }
    ::freeaddrinfo(list);
    return found;
}

} // namespace holdfast::detail
