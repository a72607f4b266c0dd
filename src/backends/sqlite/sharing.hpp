#pragma once

// Who may use the lock file, and with it all that lies beside it, whatever the umask says.
//
//   directory   u=rwx          g+w                    o+w, not sticky
//   file        rw-------      rw-rw---- (its group)  rw-rw-rw-
//   <path>.d    as the file, with x where there is r; FIFOs as the file

#include <string>
#include <sys/stat.h>
#include <sys/types.h>

namespace holdfast::sqlite {

struct sharing {
    mode_t mode = 0600;
    uid_t owner = 0;
    gid_t group = 0;

    /// What a new file is to get from the directory it lies in.
    [[nodiscard]] static sharing in_directory(const struct stat& directory) noexcept;

    /// What the things beside an existing file get.
    [[nodiscard]] static sharing like_file(const struct stat& file) noexcept;

    [[nodiscard]] sharing for_directory() const noexcept;

    /// Only the owner of a thing can give it away; whoever cannot leaves it as it is.
    void give(int descriptor) const noexcept;
    void give(const std::string& path) const noexcept;
};

} // namespace holdfast::sqlite
