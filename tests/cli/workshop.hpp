#pragma once

// Where each test works: a folder and a lock file of its own. Afterwards nobody may be left.

#include "program.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace holdfast::cli_tests {

/// The program under test.
[[nodiscard]] std::string holdfast_program();

class workshop : public testing::Test {
protected:
    workshop();
    ~workshop() override;

    void TearDown() override;

    /// `holdfast` with these arguments, on this test's lock file.
    [[nodiscard]] static program start(const std::vector<std::string>& arguments,
                                       const start_options& = {});
    [[nodiscard]] static outcome holdfast(const std::vector<std::string>& arguments,
                                          const start_options& = {});

    /// `holdfast run NAME …` of a shell script that says "ready" first; returns when it has.
    [[nodiscard]] static program start_holding(const std::vector<std::string>& options,
                                               const std::string& script);

    /// Waits until so many wait for the lock, as `holdfast show` sees it.
    static void until_waiting(const std::string& name, std::size_t count);

    [[nodiscard]] std::string path(const std::string& file) const {
        return (folder_ / file).string();
    }
    [[nodiscard]] std::string read(const std::string& file) const;
    void write(const std::string& file, const std::string& text) const;

    [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }

private:
    std::filesystem::path folder_;
};

} // namespace holdfast::cli_tests
