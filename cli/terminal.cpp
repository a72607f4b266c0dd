#include "terminal.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <system_error>
#include <unistd.h>

namespace holdfast::cli {

namespace {

std::string_view code_of(colour which) noexcept {
    switch (which) {
    case colour::bold:
        return "\x1b[1m";
    case colour::dim:
        return "\x1b[2m";
    case colour::green:
        return "\x1b[32m";
    case colour::yellow:
        return "\x1b[33m";
    case colour::red:
        return "\x1b[31m";
    case colour::plain:
        break;
    }
    return "";
}

std::string_view environment(const char* name) noexcept {
    const char* value = std::getenv(name); // NOLINT(concurrency-mt-unsafe): nobody sets it
    return value == nullptr ? std::string_view{} : std::string_view{value};
}

} // namespace

std::string in(colour which, std::string_view text, int descriptor) {
    if (which == colour::plain || !can_move_cursor(descriptor) ||
        !environment("NO_COLOR").empty()) {
        return std::string{text};
    }
    return std::string{code_of(which)} + std::string{text} + "\x1b[0m";
}

bool is_terminal(int descriptor) noexcept { return ::isatty(descriptor) == 1; }

bool can_move_cursor(int descriptor) noexcept {
    return is_terminal(descriptor) && environment("TERM") != "dumb";
}

bool in_foreground_of(int descriptor) noexcept { return ::tcgetpgrp(descriptor) == ::getpgrp(); }

std::size_t width_of(int descriptor) noexcept {
    winsize size{};
    return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void print(std::string_view text) {
    while (!text.empty()) {
        const auto written = ::write(STDOUT_FILENO, text.data(), text.size());
        if (written < 0 && errno != EINTR) {
            throw std::system_error{errno, std::generic_category(), "cannot write the output"};
        }
        text.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
    }
}

void tell(std::string_view text) noexcept {
    constexpr int moment = 100; // milliseconds
    pollfd there{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
    if (::poll(&there, 1, moment) == 1) {
        // If even this cannot be written, the exit code is all we have left.
        [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
    }
}

void seat_standard_descriptors() noexcept {
    for (const int descriptor : std::array{STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(descriptor, F_GETFD) < 0) {
            // open() takes the lowest free number, and those below are taken by now.
            [[maybe_unused]] const int taken = ::open("/dev/null", O_RDWR | O_NOCTTY);
        }
    }
}

} // namespace holdfast::cli
