#include "top_table.hpp"
#include "durations.hpp"
#include "inspecting.hpp"
#include "text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

namespace holdfast::cli {

namespace {

constexpr std::size_t looks_counted = 10;
constexpr std::size_t head_height = 2; // the title, the names of the columns
constexpr std::size_t foot_height = 1;
constexpr std::size_t gap = 2; // between columns

// ------------------------------------------------------------------------------- from look to row

std::string holder_of(const lock_info& lock) {
    if (lock.holders.empty()) {
        return "-";
    }
    const auto& who = lock.holders.front().who; // the host last: the pid matters most
    const auto count = lock.holders.size();
    const auto others = count == 1 ? "" : "1 of " + std::to_string(count) + ": ";
    if (who.pid <= 0 || who.host.empty()) { // another library, which does not tell all of it
        return others + described(who);
    }
    const auto purpose = who.purpose.empty() ? "" : " " + printable(who.purpose);
    return others + std::to_string(who.pid) + purpose + " on " + printable(who.host);
}

std::string fence_of(const lock_info& lock) {
    const bool has_one = !lock.holders.empty() && lock.holders.front().fence;
    return has_one ? std::to_string(lock.holders.front().fence.value()) : "-";
}

std::optional<duration> longest_hold(const lock_info& lock) {
    std::optional<duration> longest;
    for (const auto& holder : lock.holders) {
        longest = std::max(longest.value_or(duration::zero()), holder.held_for);
    }
    return longest;
}

std::optional<duration> shortest_rest(const lock_info& lock) {
    std::optional<duration> shortest;
    for (const auto& holder : lock.holders) {
        if (holder.remaining) {
            shortest = std::min(shortest.value_or(*holder.remaining), *holder.remaining);
        }
    }
    return shortest;
}

// --------------------------------------------------------------------------------- from row to
// text

std::string time_text(const std::optional<duration>& time) { return time ? human(*time) : "-"; }

std::string rate_text(const std::optional<grant_rate>& rate) {
    if (!rate) {
        return "-";
    }
    const auto tenths = std::llround(rate->per_second * 10);
    return (rate->at_least ? "≥" : "") + std::to_string(tenths / 10) + "." +
           std::to_string(tenths % 10);
}

enum class align { left, right };

struct column {
    std::string_view title;
    std::size_t width;        ///< 0: whatever is left
    std::size_t from_columns; ///< shown on screens that are at least so wide
    align side;
    std::string (*text)(const top_row&);
};

// The name comes first and the holder last; in between, the widest screens have all of these.
constexpr std::array middle_columns{
    column{"MODE", 9, 90, align::left, [](const top_row& row) { return row.mode; }},
    column{"FENCE", 16, 110, align::right, [](const top_row& row) { return row.fence; }},
    column{"HELD", 7, 0, align::right, [](const top_row& row) { return time_text(row.held); }},
    column{"REMAINING",
           9,
           72,
           align::right,
           [](const top_row& row) { return time_text(row.remaining); }},
    column{"WAITERS",
           7,
           0,
           align::right,
           [](const top_row& row) { return std::to_string(row.waiters); }},
    column{
        "GRANTS/S", 8, 56, align::right, [](const top_row& row) { return rate_text(row.rate); }}};

std::vector<column> columns_for(std::size_t width) {
    std::vector<column> fitting;
    std::copy_if(middle_columns.begin(),
                 middle_columns.end(),
                 std::back_inserter(fitting),
                 [&](const column& one) { return width >= one.from_columns; });
    return fitting;
}

/// The name gets what it needs, but leaves the holder at least half of what there is.
std::size_t name_width(const std::vector<top_row>& rows, std::size_t for_both) {
    std::size_t longest = 4;
    for (const auto& row : rows) {
        longest = std::max(longest, columns_of(row.name));
    }
    return std::min(longest, std::max<std::size_t>(for_both / 2, 1));
}

std::string cell(std::string_view text, std::size_t width, align side) {
    if (side == align::left) {
        return fitted(text, width);
    }
    const auto fitting = shortened(text, width);
    return std::string(width - columns_of(fitting), ' ') + fitting;
}

/// The names of the columns, and the rows from `first` on.
std::vector<std::string> table_lines(const std::vector<top_row>& rows,
                                     std::size_t first,
                                     std::size_t count,
                                     std::size_t width) {
    const auto columns = columns_for(width);
    const auto taken =
        std::accumulate(columns.begin(), columns.end(), gap, [](auto sum, const auto& one) {
            return sum + one.width + gap;
        });
    const auto for_both = width > taken ? width - taken : 2;
    const auto name = name_width(rows, for_both);
    const std::string space(gap, ' ');
    const auto line = [&](std::string_view its_name, auto&& text_of, std::string_view holder) {
        auto text = fitted(its_name, name);
        for (const auto& one : columns) {
            text += space + cell(text_of(one), one.width, one.side);
        }
        return shortened(text + space + std::string{holder}, width);
    };
    std::vector<std::string> lines{line(
        "NAME", [](const column& one) { return std::string{one.title}; }, "HOLDER")};
    for (auto i = first; i < rows.size() && i < first + count; ++i) {
        const auto& row = rows[i];
        lines.push_back(line(
            row.name, [&](const column& one) { return one.text(row); }, row.holder));
    }
    return lines;
}

std::string counted(std::size_t number, std::string_view one, std::string_view many) {
    return std::to_string(number) + " " + std::string{number == 1 ? one : many};
}

std::string summary_of(const top_view& view) {
    const auto waiters = std::accumulate(
        view.rows.begin(), view.rows.end(), std::size_t{0}, [](auto sum, const auto& row) {
            return sum + row.waiters;
        });
    return counted(view.rows.size(), "lock", "locks") + ", " +
           counted(waiters, "waiter", "waiters");
}

screen_line title_line(const top_view& view, std::size_t width) {
    if (!view.trouble.empty()) {
        return {.text = shortened(printable(view.trouble), width), .how = colour::red};
    }
    if (view.title.empty()) {
        return {.text = shortened("asking the engine …", width)};
    }
    const auto left = summary_of(view);
    const auto right = printable(view.title);
    const auto used = columns_of(left) + gap;
    if (used + columns_of(right) > width) {
        return {.text = shortened(left + std::string(gap, ' ') + right, width)};
    }
    return {.text = left + std::string(width - used - columns_of(right) + gap, ' ') + right};
}

screen_line foot_line(const top_view& view, const screen_size& size) {
    if (view.typing_filter) {
        return {.text = shortened("names with: " + printable(view.filter) + "_", size.columns),
                .how = colour::bold};
    }
    std::string text;
    if (const auto fit = rows_that_fit(size); view.rows.size() > fit) {
        text = std::to_string(view.first + 1) + "-" +
               std::to_string(std::min(view.first + fit, view.rows.size())) + " of " +
               std::to_string(view.rows.size()) + "  ";
    }
    if (!view.filter.empty()) {
        text += "names with '" + printable(view.filter) + "'  ";
    }
    constexpr std::array<std::string_view, 4> orders{"name", "waiters", "held", "rate"};
    text += "by " + std::string{orders.at(static_cast<std::size_t>(view.order))} +
            "  q quit  n w h r sort  / filter  ↑ ↓ scroll";
    return {.text = shortened(text, size.columns), .how = colour::dim};
}

} // namespace

void grant_counter::add(const look& seen) {
    if (last_) {
        interval next{.length = seen.answered - last_->answered, .grants = {}};
        for (const auto& one : happenings_between(*last_, seen)) {
            next.grants[one.name] += one.what == happening::kind::granted ? 1 : 0;
        }
        intervals_.push_back(std::move(next));
        if (intervals_.size() > looks_counted) {
            intervals_.pop_front();
        }
    }
    last_ = seen;
}

std::optional<grant_rate> grant_counter::rate_of(const std::string& name) const {
    double seconds = 0;
    std::size_t grants = 0;
    bool always = true;
    for (const auto& one : intervals_) {
        const auto found = one.grants.find(name);
        const auto seen = found == one.grants.end() ? 0 : found->second;
        seconds += std::chrono::duration<double>{one.length}.count();
        grants += seen;
        always = always && seen > 0;
    }
    if (seconds <= 0) {
        return std::nullopt;
    }
    return grant_rate{.per_second = static_cast<double>(grants) / seconds, .at_least = always};
}

std::vector<top_row> rows_of(const look& seen, const grant_counter& grants) {
    std::vector<top_row> rows;
    for (const auto& lock : seen.locks) {
        const auto mode = lock.holders.empty() ? "-" : name_of(lock.holders.front().mode);
        rows.push_back({.name = printable(lock.name),
                        .holder = holder_of(lock),
                        .mode = std::string{mode},
                        .fence = fence_of(lock),
                        .held = longest_hold(lock),
                        .remaining = shortest_rest(lock),
                        .waiters = lock.waiters.size(),
                        .rate = grants.rate_of(lock.name)});
    }
    return rows;
}

void sort(std::vector<top_row>& rows, order by) {
    const auto descending = [&rows](auto value) {
        std::stable_sort(rows.begin(), rows.end(), [&](const auto& left, const auto& right) {
            return std::invoke(value, left) > std::invoke(value, right);
        });
    };
    std::sort(rows.begin(), rows.end(), [](const auto& left, const auto& right) {
        return left.name < right.name;
    });
    switch (by) {
    case order::name:
        break;
    case order::waiters:
        descending(&top_row::waiters);
        break;
    case order::held:
        descending(&top_row::held);
        break;
    case order::rate:
        descending([](const top_row& row) { return row.rate ? row.rate->per_second : -1; });
        break;
    }
}

void keep_matching(std::vector<top_row>& rows, const std::string& text) {
    std::erase_if(rows,
                  [&](const top_row& row) { return row.name.find(text) == std::string::npos; });
}

std::size_t rows_that_fit(const screen_size& size) noexcept {
    constexpr auto around = head_height + foot_height;
    return size.rows > around ? size.rows - around : 0;
}

std::vector<screen_line> lines_of(const top_view& view, const screen_size& size) {
    const auto fit = rows_that_fit(size);
    std::vector<screen_line> lines{title_line(view, size.columns)};
    for (auto& text : table_lines(view.rows, view.first, fit, size.columns)) {
        lines.push_back(
            {.text = std::move(text), .how = lines.size() == 1 ? colour::bold : colour::plain});
    }
    while (lines.size() < head_height + fit) {
        lines.push_back({});
    }
    lines.push_back(foot_line(view, size));
    lines.resize(std::min(lines.size(), size.rows));
    return lines;
}

std::string plain_text_of(const std::vector<top_row>& rows, std::optional<std::size_t> columns) {
    std::size_t longest = 0;
    for (const auto& row : rows) {
        longest = std::max({longest, columns_of(row.holder), columns_of(row.name)});
    }
    constexpr std::size_t all_between = 120; // the name may take half of what the others leave
    const auto width = columns.value_or(2 * longest + all_between);
    std::string text;
    for (const auto& line : table_lines(rows, 0, rows.size(), width)) {
        text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return text;
}

} // namespace holdfast::cli
