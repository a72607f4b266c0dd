// How to reach a quorum: of three files, and of three stores in memory. When the place fails, two
// of the three do; with one of them away a quorum goes on, which its own tests show.

#include "conformance/engine.hpp"
#include "conformance/faulty_line.hpp"
#include "conformance/scratch.hpp"

#include <holdfast/memory.hpp>
#include <holdfast/quorum.hpp>
#include <holdfast/sqlite.hpp>

#include <sqlite3.h>

#include <array>

namespace holdfast::conformance {
namespace {

class quorum_of_stores final : public place {
public:
    std::unique_ptr<backend> connect() override {
        std::vector<std::unique_ptr<backend>> members;
        for (std::size_t i = 0; i < stores_.size(); ++i)
            members.push_back(
                std::make_unique<faulty_line>(memory::make(stores_[i]), i == 0 ? well_ : fault_));
        return quorum::make(std::move(members));
    }
    void fail() override { fault_->set(fault::away); }
    void recover() override { fault_->set(fault::none); }

private:
    const std::array<std::shared_ptr<memory::store>, 3> stores_{
        memory::make_store(), memory::make_store(), memory::make_store()};
    const std::shared_ptr<fault_switch> fault_ = std::make_shared<fault_switch>();
    const std::shared_ptr<fault_switch> well_ = std::make_shared<fault_switch>();
};

class quorum_of_files final : public place {
public:
    ~quorum_of_files() override { recover(); }

    std::unique_ptr<backend> connect() override {
        std::vector<std::unique_ptr<backend>> members;
        for (std::size_t i = 0; i < 3; ++i)
            members.push_back(sqlite::make({.path = path(i)}));
        return quorum::make(std::move(members));
    }
    std::string url() const override {
        return "quorum:sqlite:" + path(0) + ",sqlite:" + path(1) + ",sqlite:" + path(2);
    }

    // Somebody else writes into two of the files, and does not come to an end.
    void fail() override {
        for (std::size_t i = 0; i < intruders_.size(); ++i) {
            ASSERT_EQ(sqlite3_open(path(i).c_str(), &intruders_[i]), SQLITE_OK);
            sqlite3_busy_timeout(intruders_[i], 10'000);
            ASSERT_EQ(sqlite3_exec(intruders_[i], "BEGIN IMMEDIATE", nullptr, nullptr, nullptr),
                      SQLITE_OK);
        }
    }
    void recover() override {
        for (auto& intruder : intruders_)
            sqlite3_close(std::exchange(intruder, nullptr)); // rolls back
    }

private:
    [[nodiscard]] std::string path(std::size_t i) const {
        return folder_.path() + "/" + std::string(1, static_cast<char>('a' + i)) + ".db";
    }

    const scratch_folder folder_;
    std::array<sqlite3*, 2> intruders_{};
};

[[maybe_unused]] const bool stores_added = add({
    .promises = {.engine = "quorum",
                 .reach = reach::process,
                 .lock_delay = true,
                 .fences = fence_grade::transient,
                 .wake = wake_by::polling},
    .called = "quorum_of_memory",
    .can_fail = true,
    .make_place = []() -> std::unique_ptr<place> { return std::make_unique<quorum_of_stores>(); },
});

[[maybe_unused]] const bool files_added = add({
    .promises = {.engine = "quorum",
                 .reach = reach::machine,
                 .lock_delay = true,
                 .notices_death = true,
                 .fences = fence_grade::hybrid,
                 .wake = wake_by::polling},
    .called = "quorum_of_sqlite",
    .can_fail = true,
    .embedded = true,
    .make_place = []() -> std::unique_ptr<place> { return std::make_unique<quorum_of_files>(); },
});

} // namespace
} // namespace holdfast::conformance
