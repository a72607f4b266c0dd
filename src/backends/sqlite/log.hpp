#pragma once

// Writing the log back into the file, which syncs and can take seconds: on a thread and a
// connection of its own, so that no lock, unlock or renewal waits for it. Others go on writing
// meanwhile.

#include <atomic>
#include <memory>
#include <string>

namespace holdfast::sqlite {

class log_keeper {
public:
    /// After each commit: how long the log is now, in pages.
    void keep(const std::string& path, int pages);

private:
    const std::shared_ptr<std::atomic<bool>> busy_ = std::make_shared<std::atomic<bool>>(false);
    int written_back_at_ = 0; // how long it was then; 0 once it has begun anew
};

} // namespace holdfast::sqlite
