#pragma once

#include <holdfast/backend.hpp>

#include <memory>
#include <string>

namespace holdfast::sqlite {

struct options {
    std::string path;
    /// The lock stays taken until this process *and* all who inherited its descriptors are gone,
    /// even beyond the ttl. What `holdfast run` uses.
    bool children_keep_locks = false;
};

/// Locks in a file, shared by all processes of one machine that can write it.
/// Throws std::system_error with one sentence if the file cannot be used.
[[nodiscard]] std::unique_ptr<backend> make(const options&);

} // namespace holdfast::sqlite
