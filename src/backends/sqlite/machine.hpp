#pragma once

// What this engine asks of the machine around it. Tests put another machine in its place.

#include <holdfast/clock.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::sqlite {

class machine {
public:
    /// The clock that all processes with the same clock_domain() share.
    [[nodiscard]] virtual instant now() const noexcept;

    /// Names one boot of one kernel as one time namespace sees it: outside of it, times mean
    /// nothing. Empty if it cannot be known.
    [[nodiscard]] virtual std::string clock_domain() const;

    /// Microseconds since 1970: the floor of a new file's fences.
    [[nodiscard]] virtual std::int64_t wall_clock_us() const;

    /// The kind of network file system the directory lies on; empty if it is a local one.
    [[nodiscard]] virtual std::string network_file_system(const std::string& directory) const;

    [[nodiscard]] static const machine& real() noexcept;

protected:
    ~machine() = default;
};

/// From the number of statfs(2), and for FUSE from the type in /proc/self/mountinfo.
[[nodiscard]] std::string_view network_kind(std::uint64_t magic,
                                            std::string_view mounted_as) noexcept;

} // namespace holdfast::sqlite
