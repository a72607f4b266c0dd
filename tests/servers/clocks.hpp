#pragma once

// The clocks of one server, which a test may move while the server runs; see clock_shim.cpp.

#include "servers/folder.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace holdfast::servers {

enum class server_clock { real, adjustable };

class clocks {
public:
    /// What it needs lies in the server's folder, whose user can read it.
    clocks(server_clock, const folder& room);

    /// Of the server's process.
    [[nodiscard]] std::vector<std::string> environment() const;

    /// How far they are ahead of the real ones, from now on. Throws if they are the real ones.
    void shift_wall(std::chrono::milliseconds ahead) const { shift(0, ahead); }
    void shift_monotonic(std::chrono::milliseconds ahead) const { shift(1, ahead); }

private:
    void shift(std::size_t which, std::chrono::milliseconds ahead) const;

    server_clock kind_;
    std::string offsets_, shim_;
};

} // namespace holdfast::servers
