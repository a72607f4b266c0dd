#pragma once

#include <filesystem>
#include <stdexcept>
#include <stdlib.h>
#include <string>
#include <unistd.h>
#include <utility>

namespace holdfast::servers {

/// A temporary folder, removed with its owner. In memory where there is such a place: our servers
/// are killed, not unplugged, and a busy disk would make each synced write take as long as a lease.
class folder {
public:
    folder() : path_{(where() / "holdfast-XXXXXX").string()} {
        if (::mkdtemp(path_.data()) == nullptr)
            throw std::runtime_error{"there is no room for a temporary folder"};
    }
    folder(folder&& other) noexcept : path_{std::exchange(other.path_, {})} {}
    folder(const folder&) = delete;
    folder& operator=(folder&&) = delete;
    ~folder() {
        std::error_code ignored; // a leftover in the temporary folder harms nobody
        if (!path_.empty())
            std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] std::string operator/(const std::string& file) const {
        return path_ + '/' + file;
    }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

    /// Where all of them are.
    [[nodiscard]] static std::filesystem::path where() {
        return ::access("/dev/shm", W_OK) == 0 ? "/dev/shm"
                                               : std::filesystem::temp_directory_path();
    }

private:
    std::string path_;
};

} // namespace holdfast::servers
