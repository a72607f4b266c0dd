#pragma once

// Writing the log back into the file, which syncs and can take seconds: on a thread and a
// connection of its own, so that no lock, unlock or renewal waits for it.
//
//   grows ── large ──▶ written back beside the work ── nobody writes just then ──▶ begins anew
//     ▲                             │                                                   ▲
//     └── syncs are slow here ──────┴── they are quick, or it is huge: writers are ─────┘
//                                       kept out while the rest of it is written back
//
// A short log is a fast one: SQLite finds a page in it by walking over all its earlier copies, and
// ours are copies of a few pages. At 4,000 pages that walk is a fifth of an acquire and release.

#include <holdfast/clock.hpp>

#include <atomic>
#include <memory>
#include <string>

namespace holdfast::sqlite {

class log_keeper {
public:
    log_keeper();

    /// After each commit: how long the log is now, in pages.
    void keep(const std::string& path, int pages);

private:
    const int large_; // not the same for all processes, who would all begin at once
    const std::shared_ptr<std::atomic<bool>> busy_ = std::make_shared<std::atomic<bool>>(false);
    int written_back_at_ = 0; // how long it was then; 0 once it has begun anew
    instant written_back_{};
};

} // namespace holdfast::sqlite
