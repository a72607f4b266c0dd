// `holdfast show NAME`: who holds one lock, and who waits for it, in the order they will be served.

#include "durations.hpp"
#include "exit_codes.hpp"
#include "inspecting.hpp"
#include "terminal.hpp"
#include "text.hpp"

#include <holdfast/primitive.hpp>

#include <string>

namespace holdfast::cli {

namespace {

std::string line(std::string_view label, std::string_view content) {
    constexpr std::size_t label_width = 11;
    std::string text = "  " + std::string{label};
    text.append(label_width - label.size(), ' ');
    return text + std::string{content} + "\n";
}

std::string holder_text(const holder_info& holder) {
    auto text = in(colour::bold, "held by " + described(holder.who)) + "\n";
    text += line("mode", name_of(holder.mode));
    if (holder.fence) {
        text += line("fence", std::to_string(holder.fence.value()));
    }
    text += line("held for", human(holder.held_for));
    if (holder.remaining) {
        text += line("remaining", human(*holder.remaining) + ", unless renewed");
    }
    if (!holder.remark.empty()) {
        text += line("remark", printable(holder.remark));
    }
    return text;
}

std::string waiters_text(const std::vector<waiter_info>& waiters) {
    std::string text;
    for (std::size_t i = 0; i < waiters.size(); ++i) {
        const auto& waiter = waiters[i];
        text += line(std::to_string(i + 1) + ".",
                     described(waiter.who) + ", " + std::string{name_of(waiter.mode)} + ", for " +
                         human(waiter.waited_for));
    }
    return text.empty() ? text : in(colour::bold, "waiting") + "\n" + text;
}

std::string as_text(const lock_info& lock) {
    std::string text;
    for (const auto& holder : lock.holders) {
        text += holder_text(holder);
    }
    if (lock.holders.empty()) {
        text += "nobody holds '" + printable(lock.name) + "'\n";
    }
    return text + waiters_text(lock.waiters);
}

std::string as_json(const lock_info& lock) {
    json out;
    out.begin_object();
    write_members(out, lock);
    return out.end_object().text() + "\n";
}

} // namespace

int show(const inspect_options& options) {
    check_name(options.name);
    const auto lock = find_lock(open_to_look(options.url), options.name);
    print(options.format == format::json ? as_json(lock) : as_text(lock));
    return lock.holders.empty() ? exit_code::contended : exit_code::success;
}

} // namespace holdfast::cli
