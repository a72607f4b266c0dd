#pragma once

// A terminal that we have to ourselves for a while: the alternate screen, without a cursor, keys as
// they are pressed. However the object goes, the terminal is as it was.

#include "terminal.hpp"

#include <cstddef>
#include <string>
#include <termios.h>
#include <vector>

namespace holdfast::cli {

struct screen_size {
    std::size_t columns = 80;
    std::size_t rows = 24;
};

struct screen_line {
    std::string text; ///< printable, no wider than the screen
    colour how = colour::plain;
};

class screen {
public:
    /// Stops the job first if it is in the background, as the terminal would do.
    screen();
    screen(const screen&) = delete;
    screen& operator=(const screen&) = delete;
    ~screen();

    [[nodiscard]] static screen_size size() noexcept;

    /// From the top, as many lines as the screen has. Throws as print() does.
    void draw(const std::vector<screen_line>&) const;

    /// ^Z: gives the terminal back, stops the job, and takes the terminal again when it goes on.
    void pause();

private:
    void enter();
    void leave() const noexcept;

    termios before_{};
    bool has_keys_ = false; // stdin is a terminal too
};

} // namespace holdfast::cli
