#include "tether.hpp"

#include <array>
#include <cerrno>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

namespace holdfast::cli {

std::pair<tether, tether> tether::make() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        throw std::system_error{errno, std::generic_category(), "cannot start the guardian"};
    }
    return {tether{ends[0]}, tether{ends[1]}};
}

void tether::say(const message& what) const noexcept {
    // Never waits: hundreds fit, and a front that somebody stopped must not hold up the guardian.
    // If the other one is gone, hear() says so.
    ::send(descriptor_, &what, sizeof what, MSG_NOSIGNAL | MSG_DONTWAIT);
}

message tether::hear() const noexcept {
    message what;
    const auto size = ::recv(descriptor_, &what, sizeof what, MSG_DONTWAIT);
    if (size == sizeof what) {
        return what;
    }
    const bool later = size < 0 && (errno == EAGAIN || errno == EINTR);
    return {.what = later ? word::nothing : word::gone};
}

void tether::cut() noexcept {
    if (descriptor_ >= 0) {
        ::close(std::exchange(descriptor_, -1));
    }
}

} // namespace holdfast::cli
