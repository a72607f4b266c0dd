#include "tmux.hpp"

#include <fstream>
#include <stdexcept>

namespace holdfast::cli_tests {

namespace {

std::vector<std::string> in_a_window(const std::string& command, window_size size) {
    return {"new-session",
            "-d",
            "-x",
            std::to_string(size.columns),
            "-y",
            std::to_string(size.rows),
            command};
}

/// A server that is ending must not be asked to start something new.
std::string unused_socket_in(const std::filesystem::path& folder) {
    for (int number = 1;; ++number) {
        auto path = folder / ("tmux-" + std::to_string(number));
        std::ofstream mark{path.string() + ".taken", std::ios::app};
        if (mark.tellp() == 0) {
            mark << "taken";
            return path.string();
        }
    }
}

} // namespace

bool tmux::is_missing() { return call({"sh", "-c", "command -v tmux > /dev/null"}).code != 0; }

tmux::tmux(const std::filesystem::path& folder, const std::string& command, window_size size)
    : socket_{unused_socket_in(folder)} {
    const auto how = ask(in_a_window(command, size));
    if (how.code != 0) {
        throw std::runtime_error{"tmux did not start: " + how.err};
    }
}

tmux::~tmux() {
    [[maybe_unused]] const auto ended = ask({"kill-server"}); // it has ended if its command has
}

outcome tmux::ask(const std::vector<std::string>& words) const {
    // The server keeps the pipes of who starts it, so they must not be ours.
    std::vector<std::string> all{
        "sh", "-c", "exec 3>&-; exec tmux -u -S \"$0\" -f /dev/null \"$@\"", socket_};
    all.insert(all.end(), words.begin(), words.end());
    return call(
        all,
        {.environment = {"LC_ALL=C.UTF-8", "NO_COLOR=", "TMUX=", "SHELL=/bin/sh"}, .input = {}});
}

void tmux::press(const std::vector<std::string>& keys) const {
    std::vector<std::string> words{"send-keys"};
    words.insert(words.end(), keys.begin(), keys.end());
    static_cast<void>(ask(words));
}

void tmux::type(const std::string& text) const {
    static_cast<void>(ask({"send-keys", "-l", text}));
}

void tmux::resize(window_size size) const {
    static_cast<void>(ask(
        {"resize-window", "-x", std::to_string(size.columns), "-y", std::to_string(size.rows)}));
}

std::string tmux::screen(const std::vector<std::string>& how) const {
    std::vector<std::string> words{"capture-pane", "-p"};
    words.insert(words.end(), how.begin(), how.end());
    return ask(words).out;
}

bool tmux::shows(const std::string& text) const {
    return comes_true(patience, [&] { return screen().find(text) != std::string::npos; });
}

bool tmux::hides(const std::string& text) const {
    return comes_true(patience, [&] { return screen().find(text) == std::string::npos; });
}

bool tmux::ends() const {
    return comes_true(patience, [this] { return ask({"has-session"}).code != 0; });
}

} // namespace holdfast::cli_tests
