#pragma once

#include <filesystem>
#include <stdexcept>
#include <stdlib.h>
#include <string>

namespace holdfast::conformance {

/// A folder of one test, gone after it.
class scratch_folder {
public:
    scratch_folder() {
        path_ = (std::filesystem::temp_directory_path() / "holdfast-conformance-XXXXXX").string();
        if (::mkdtemp(path_.data()) == nullptr)
            throw std::runtime_error{"there is no room for a temporary folder"};
    }
    ~scratch_folder() {
        std::error_code ignored; // a leftover in the temporary folder harms nobody
        std::filesystem::remove_all(path_, ignored);
    }
    scratch_folder(const scratch_folder&) = delete;
    scratch_folder& operator=(const scratch_folder&) = delete;

    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    std::string path_;
};

} // namespace holdfast::conformance
