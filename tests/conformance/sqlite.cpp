// How to reach the engine `sqlite`: a file in a folder of its own.

#include "conformance/engine.hpp"
#include "conformance/scratch.hpp"

#include <holdfast/sqlite.hpp>

#include <sqlite3.h>

namespace holdfast::conformance {
namespace {

class sqlite_place final : public place {
public:
    ~sqlite_place() override { recover(); }

    std::unique_ptr<backend> connect() override { return sqlite::make({.path = path_}); }
    std::string url() const override { return "sqlite:" + path_; }

    // Somebody else writes, and does not come to an end.
    void fail() override {
        ASSERT_EQ(sqlite3_open(path_.c_str(), &intruder_), SQLITE_OK);
        sqlite3_busy_timeout(intruder_, 10'000);
        ASSERT_EQ(sqlite3_exec(intruder_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
    }
    void recover() override {
        sqlite3_close(intruder_); // rolls back
        intruder_ = nullptr;
    }

private:
    const scratch_folder folder_;
    const std::string path_ = folder_.path() + "/locks.db";
    sqlite3* intruder_ = nullptr;
};

[[maybe_unused]] const bool added = add({
    .promises = {.engine = "sqlite",
                 .reach = reach::machine,
                 .shared = true,
                 .permits = true,
                 .fair = true,
                 .lock_delay = true,
                 .notices_death = true,
                 .fence_per_pass = true,
                 .raises_fences = true,
                 .fences = fence_grade::hybrid,
                 .wake = wake_by::grant},
    .can_fail = true,
    .embedded = true,
    .make_place = []() -> std::unique_ptr<place> { return std::make_unique<sqlite_place>(); },
});

} // namespace
} // namespace holdfast::conformance
