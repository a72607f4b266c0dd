#pragma once

#include <string>
#include <vector>

namespace holdfast::cli {

/// Rows of cells, printed in columns as wide as their widest cell.
class table {
public:
    explicit table(std::vector<std::string> header) { rows_.push_back(std::move(header)); }

    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

    /// Cut to the terminal's width if stdout is one; the header is bold there.
    [[nodiscard]] std::string text() const;

private:
    std::vector<std::vector<std::string>> rows_; // all as long as the first
};

} // namespace holdfast::cli
