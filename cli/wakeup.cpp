#include "wakeup.hpp"

#include <cerrno>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>

namespace holdfast::cli {

wakeup::wakeup() : descriptor_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
    if (descriptor_ < 0) {
        throw std::system_error{errno, std::generic_category(), "cannot start the guardian"};
    }
}

wakeup::~wakeup() { ::close(descriptor_); }

void wakeup::raise() const noexcept { ::eventfd_write(descriptor_, 1); }

bool wakeup::lower() const noexcept {
    eventfd_t raised = 0;
    return ::eventfd_read(descriptor_, &raised) == 0;
}

} // namespace holdfast::cli
