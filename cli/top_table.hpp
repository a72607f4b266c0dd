#pragma once

// The table of `holdfast top`: pure, from looks to lines.

#include "happenings.hpp"
#include "lookout.hpp"
#include "screen.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::cli {

enum class order { name, waiters, held, rate };

struct grant_rate {
    double per_second = 0;
    bool at_least = false; ///< each look saw a new holder: there may have been more in between
};

/// One lock.
struct top_row {
    std::string name;
    std::string holder; ///< "4711 backup --full on db1", "1 of 3: …", or "-"
    std::string mode;
    std::string fence;
    std::optional<duration> held;      ///< the longest, if several hold it
    std::optional<duration> remaining; ///< the shortest
    std::size_t waiters = 0;
    std::optional<grant_rate> rate; ///< nothing before the second look
};

/// How often each lock was seen with a new holder, over the last looks.
class grant_counter {
public:
    /// Looks that failed are not to be shown to it.
    void add(const look&);
    [[nodiscard]] std::optional<grant_rate> rate_of(const std::string& name) const;

private:
    struct interval {
        duration length;
        std::map<std::string, std::size_t> grants;
    };
    std::optional<look> last_;
    std::deque<interval> intervals_;
};

[[nodiscard]] std::vector<top_row> rows_of(const look&, const grant_counter&);

/// Names in their order; everything else from large to small, equals by name.
void sort(std::vector<top_row>&, order);

/// Those whose name contains it.
void keep_matching(std::vector<top_row>&, const std::string& text);

/// All that is on the screen.
struct top_view {
    std::string title;   ///< the engine and the time; empty before the first look
    std::string trouble; ///< why we cannot see, or nothing
    std::vector<top_row> rows;
    cli::order order = order::name;
    std::size_t first = 0; ///< the first row that is shown
    std::string filter;
    bool typing_filter = false;
};

/// How many rows fit between the head and the foot.
[[nodiscard]] std::size_t rows_that_fit(const screen_size&) noexcept;

[[nodiscard]] std::vector<screen_line> lines_of(const top_view&, const screen_size&);

/// Head and rows of the table alone, without a screen: for --once. As wide as need be, unless it is
/// told how wide.
[[nodiscard]] std::string plain_text_of(const std::vector<top_row>&,
                                        std::optional<std::size_t> columns);

} // namespace holdfast::cli
