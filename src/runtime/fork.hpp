#pragma once

#include <cstdint>

namespace holdfast::detail {

/// Grows by one in each forked child: what was made under another number is not ours to use.
[[nodiscard]] std::uint64_t fork_generation() noexcept;

/// While one of these lives, fork() waits: for what must not be inherited half done. Not to be
/// nested.
class not_while_forking {
public:
    not_while_forking() noexcept;
    not_while_forking(const not_while_forking&) = delete;
    not_while_forking& operator=(const not_while_forking&) = delete;
    ~not_while_forking();
};

/// From now on a forked child closes this descriptor at once, so that it does not keep alive what
/// only the parent stands for. At most 64 descriptors; false if there is no room.
bool close_in_child(int fd) noexcept;

/// Before closing it oneself: the number may soon mean something else.
void forget_in_child(int fd) noexcept;

} // namespace holdfast::detail
