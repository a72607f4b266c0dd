#include "backends/sqlite/sharing.hpp"

#include <unistd.h>

namespace holdfast::sqlite {
namespace {

// Root makes files for others and gives them the owner of the file, as SQLite does with its log.
[[nodiscard]] uid_t new_owner(uid_t wanted) noexcept {
    return ::geteuid() == 0 ? wanted : static_cast<uid_t>(-1);
}

} // namespace

sharing sharing::in_directory(const struct stat& directory) noexcept {
    sharing wanted{.mode = 0600, .owner = ::geteuid(), .group = directory.st_gid};
    if ((directory.st_mode & S_IWGRP) != 0)
        wanted.mode |= 0060;
    if ((directory.st_mode & S_IWOTH) != 0 && (directory.st_mode & S_ISVTX) == 0)
        wanted.mode |= 0066;
    return wanted;
}

sharing sharing::like_file(const struct stat& file) noexcept {
    return {.mode = file.st_mode & 0666, .owner = file.st_uid, .group = file.st_gid};
}

sharing sharing::for_directory() const noexcept {
    auto with_x = *this;
    with_x.mode |= (mode & 0444) >> 2;
    return with_x;
}

// The group comes before the mode: rights for the wrong group must never exist.
void sharing::give(int descriptor) const noexcept {
    const bool grouped = ::fchown(descriptor, new_owner(owner), group) == 0;
    const bool open_to_all = (mode & 0006) == 0006;
    ::fchmod(descriptor, grouped || open_to_all ? mode : mode & ~mode_t{0070});
}

void sharing::give(const std::string& path) const noexcept {
    const bool grouped = ::lchown(path.c_str(), new_owner(owner), group) == 0;
    const bool open_to_all = (mode & 0006) == 0006;
    ::chmod(path.c_str(), grouped || open_to_all ? mode : mode & ~mode_t{0070});
}

} // namespace holdfast::sqlite
