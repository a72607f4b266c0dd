#include "table.hpp"
#include "terminal.hpp"
#include "text.hpp"

#include <algorithm>
#include <unistd.h>

namespace holdfast::cli {

namespace {

std::vector<std::size_t> widths_of(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths(rows.front().size());
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], columns_of(row[i]));
        }
    }
    return widths;
}

std::string line_of(const std::vector<std::string>& row, const std::vector<std::size_t>& widths) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
        line += row[i];
        if (i + 1 < row.size()) {
            line.append(widths[i] - columns_of(row[i]) + 2, ' ');
        }
    }
    return line;
}

} // namespace

std::string table::text() const {
    const auto widths = widths_of(rows_);
    std::string text;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        auto line = line_of(rows_[i], widths);
        if (is_terminal(STDOUT_FILENO)) {
            line = shortened(line, width_of(STDOUT_FILENO));
        }
        text += in(i == 0 ? colour::bold : colour::plain, line) + "\n";
    }
    return text;
}

} // namespace holdfast::cli
