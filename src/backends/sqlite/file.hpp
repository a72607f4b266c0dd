#pragma once

// The lock file: found, made, checked, and moved aside when it is broken.
//
//                       ┌─ missing, empty ──────────▶ made anew
//   path ── first bytes ┼─ ours ── newer version ───▶ refused
//                       │       └─ damaged ─────────▶ somebody lives? refused. Else moved aside,
//                       said so, │                             made anew ├─ unreadable, <path>.d
//                       there ▶ as damaged: it was ours └─ anything else ───────────▶ refused, and
//                       not touched
//
// A file of another boot (or of a time namespace where nobody lives): nobody of then holds
// anything.

#include "backends/sqlite/connection.hpp"
#include "backends/sqlite/liveness.hpp"
#include "backends/sqlite/machine.hpp"
#include "backends/sqlite/sharing.hpp"

#include <memory>
#include <string>
#include <vector>

namespace holdfast::sqlite {

struct lock_file {
    std::string path;      ///< absolute, symbolic links resolved
    std::string directory; ///< <path>.d, where the FIFOs are
    sharing shared;
    std::unique_ptr<connection> db;
    std::vector<std::string> notices; ///< what an operator should read
};

/// Throws holdfast::error with one sentence if the file cannot be used.
[[nodiscard]] lock_file open_file(const std::string& path, const machine&);

/// $XDG_STATE_HOME/holdfast/locks.db, or the same below ~/.local/state; makes the directories.
[[nodiscard]] std::string default_path();

/// Makes <path>.d if it is not there.
void make_directory(const std::string& path, const sharing&);

/// Reserves the next block of fences: the only write that waits for the disk.
void reserve_fences(connection&, std::int64_t beyond = 0);

/// Remembers for the next opening that this file may be damaged.
void mark_suspect(const lock_file&) noexcept;

/// Held while the file is made, moved, or given another clock domain (alone), and while a process
/// makes itself known in it (together with others): the one does not happen under the other.
class guard {
public:
    enum class hold : bool { together, alone };
    guard(const std::string& directory, const sharing&, hold, instant by); ///< throws trouble

private:
    descriptor file_;
};

} // namespace holdfast::sqlite
