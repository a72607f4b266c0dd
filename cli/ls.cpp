// `holdfast ls [PATTERN]`: one line for each holder of each lock.

#include "durations.hpp"
#include "inspecting.hpp"
#include "table.hpp"
#include "terminal.hpp"
#include "text.hpp"

#include <string>
#include <unistd.h>

namespace holdfast::cli {

namespace {

std::string fence_text(fence number) { return number ? std::to_string(number.value()) : "-"; }

std::string remaining_text(const holder_info& holder) {
    return holder.remaining ? human(*holder.remaining) : "-";
}

void add_rows(table& rows, const lock_info& lock) {
    const auto name = printable(lock.name);
    const auto waiters = std::to_string(lock.waiters.size());
    for (const auto& holder : lock.holders) {
        rows.add({name,
                  std::string{name_of(holder.mode)},
                  fence_text(holder.fence),
                  human(holder.held_for),
                  remaining_text(holder),
                  waiters,
                  described(holder.who)});
    }
    if (lock.holders.empty()) { // between two holders
        rows.add({name, "-", "-", "-", "-", waiters, "-"});
    }
}

std::string as_text(const std::vector<lock_info>& locks) {
    // The holder comes last: command lines are long, and a narrow terminal cuts at the right.
    table rows{{"NAME", "MODE", "FENCE", "HELD", "REMAINING", "WAITERS", "HOLDER"}};
    for (const auto& lock : locks) {
        add_rows(rows, lock);
    }
    return rows.text();
}

std::string as_json(const std::vector<lock_info>& locks) {
    json out;
    out.begin_object().key("locks").begin_array();
    for (const auto& lock : locks) {
        out.begin_object();
        write_members(out, lock);
        out.end_object();
    }
    out.end_array().end_object();
    return out.text() + "\n";
}

std::string names_of(const std::vector<lock_info>& locks) {
    std::string text;
    for (const auto& lock : locks) {
        text += printable(lock.name) + "\n";
    }
    return text;
}

} // namespace

int ls(const inspect_options& options) {
    const auto locks = sorted(open_to_look(options.url).inspect(options.pattern));
    if (options.format == format::json) {
        print(as_json(locks));
    } else if (options.names_only) {
        print(names_of(locks));
    } else if (!locks.empty()) {
        print(as_text(locks));
    } else if (is_terminal(STDERR_FILENO) && is_terminal(STDOUT_FILENO)) {
        tell("no locks held\n");
    }
    return 0;
}

} // namespace holdfast::cli
