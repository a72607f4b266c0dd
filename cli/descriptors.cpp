#include "descriptors.hpp"

#include <cctype>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

namespace holdfast::cli {

std::vector<int> inherited_descriptors() {
    std::vector<int> open;
    DIR* directory = ::opendir("/proc/self/fd");
    if (directory == nullptr) {
        return open;
    }
    while (const dirent* entry = ::readdir(directory)) {
        const bool number = std::isdigit(static_cast<unsigned char>(entry->d_name[0])) != 0;
        const int descriptor =
            number ? static_cast<int>(std::strtol(entry->d_name, nullptr, 10)) : 0;
        if (descriptor > STDERR_FILENO && descriptor != ::dirfd(directory)) {
            open.push_back(descriptor);
        }
    }
    ::closedir(directory);
    return open;
}

void let_go(const std::vector<int>& inherited) noexcept {
    silence(STDIN_FILENO);
    silence(STDOUT_FILENO);
    for (const int descriptor : inherited) {
        ::close(descriptor);
    }
}

void silence(int descriptor) noexcept {
    const int nothing = ::open("/dev/null", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (nothing < 0) {
        return; // out of descriptors: the pipe closes when we end
    }
    ::dup2(nothing, descriptor);
    ::close(nothing);
}

} // namespace holdfast::cli
