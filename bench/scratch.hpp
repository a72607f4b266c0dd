#pragma once

#include "pairs.hpp"

#include <cstdlib>
#include <filesystem>
#include <string>

namespace bench {

/// A folder on the file system that users would use, and gone afterwards.
class scratch {
public:
    scratch() {
        auto pattern = (std::filesystem::current_path() / "bench-XXXXXX").string();
        check(::mkdtemp(pattern.data()) != nullptr, "there is room for files");
        path_ = pattern;
    }
    ~scratch() { std::filesystem::remove_all(path_); }
    scratch(const scratch&) = delete;
    scratch& operator=(const scratch&) = delete;
    [[nodiscard]] std::string inside(const std::string& name) const {
        const auto made = path_ / name;
        std::filesystem::create_directory(made);
        return made.string();
    }

private:
    std::filesystem::path path_;
};

} // namespace bench
