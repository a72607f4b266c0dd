#include "screen.hpp"

#include <cerrno>
#include <csignal>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

namespace holdfast::cli {

namespace {

// The alternate screen, the cursor and the automatic margin: the margin because a character that
// a terminal draws wider than we think must not push the next line down.
constexpr std::string_view take_over = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[H\x1b[J";
constexpr std::string_view give_back = "\x1b[?7h\x1b[?25h\x1b[?1049l";

} // namespace

screen::screen() {
    // SIGTTOU is blocked here (signals.hpp), so the terminal would let us, and the shell's line
    // editor would suffer.
    while (!in_foreground_of(STDOUT_FILENO)) {
        ::raise(SIGSTOP);
    }
    has_keys_ = ::tcgetattr(STDIN_FILENO, &before_) == 0;
    enter();
}

screen::~screen() { leave(); }

void screen::enter() {
    if (has_keys_) {
        auto raw = before_;
        raw.c_lflag &= static_cast<tcflag_t>(~(ICANON | ECHO)); // ^C and ^Z stay signals
        raw.c_cc[VMIN] = 0;
        raw.c_cc[VTIME] = 0;
        ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    }
    print(take_over);
}

void screen::leave() const noexcept {
    // A terminal that is gone cannot be tidied up, and needs not be.
    [[maybe_unused]] const auto written =
        ::write(STDOUT_FILENO, give_back.data(), give_back.size());
    if (has_keys_) {
        ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
    }
}

screen_size screen::size() noexcept {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
        return {};
    }
    return {.columns = size.ws_col, .rows = size.ws_row};
}

void screen::draw(const std::vector<screen_line>& lines) const {
    std::string frame = "\x1b[H";
    bool first = true;
    for (const auto& line : lines) {
        frame += first ? "" : "\r\n";
        frame += "\x1b[K" + in(line.how, line.text); // after a full line it would erase its end
        first = false;
    }
    print(frame);
}

void screen::pause() {
    leave();
    do {
        ::raise(SIGSTOP);
    } while (!in_foreground_of(STDOUT_FILENO)); // bg: there is nothing to do in the background
    if (has_keys_) {
        ::tcgetattr(STDIN_FILENO, &before_); // the shell may have changed it meanwhile
    }
    enter();
}

} // namespace holdfast::cli
