#pragma once

// A real terminal for the tests: tmux, with a server of its own for each session.
//
//   test ── send-keys ──▶ tmux server ═ pseudo terminal ═ command
//        ◀─ capture-pane ─┘
//
// The server becomes our child when its starter ends, so the workshop finds it if it stays.

#include "program.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace holdfast::cli_tests {

struct window_size {
    int columns = 80;
    int rows = 24;
};

class tmux {
public:
    [[nodiscard]] static bool is_missing();

    /// Runs a shell command line in a window of this size. The socket lies in the folder.
    tmux(const std::filesystem::path& folder, const std::string& command, window_size = {});
    tmux(const tmux&) = delete;
    tmux& operator=(const tmux&) = delete;
    ~tmux();

    /// Keys by their names: "Enter", "C-c", "Down", "q".
    void press(const std::vector<std::string>& keys) const;

    /// Text as it is.
    void type(const std::string& text) const;

    void resize(window_size) const;

    /// What is on the screen now; `how` are further options of capture-pane.
    [[nodiscard]] std::string screen(const std::vector<std::string>& how = {}) const;

    /// Waits until the screen shows it, or does not show it any more.
    [[nodiscard]] bool shows(const std::string& text) const;
    [[nodiscard]] bool hides(const std::string& text) const;

    /// Waits until the command has ended.
    [[nodiscard]] bool ends() const;

private:
    [[nodiscard]] outcome ask(const std::vector<std::string>& words) const;

    std::string socket_;
};

} // namespace holdfast::cli_tests
