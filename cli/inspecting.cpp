#include "inspecting.hpp"
#include "durations.hpp"
#include "text.hpp"

#include <algorithm>

namespace holdfast::cli {

namespace {

void write_party(json& out, const party& who) {
    out.member("host", std::string_view{who.host})
        .member("pid", who.pid)
        .member("purpose", std::string_view{who.purpose});
}

void write_holder(json& out, const holder_info& holder) {
    out.begin_object();
    write_party(out, holder.who);
    out.member("mode", name_of(holder.mode)).key("fence");
    holder.fence ? out.value(holder.fence.value()) : out.value(nullptr);
    out.member("held_for_ms", milliseconds_of(holder.held_for)).key("remaining_ms");
    holder.remaining ? out.value(milliseconds_of(*holder.remaining)) : out.value(nullptr);
    if (!holder.remark.empty()) {
        out.member("remark", std::string_view{holder.remark});
    }
    out.end_object();
}

void write_waiter(json& out, const waiter_info& waiter) {
    out.begin_object();
    write_party(out, waiter.who);
    out.member("mode", name_of(waiter.mode))
        .member("waited_for_ms", milliseconds_of(waiter.waited_for))
        .end_object();
}

} // namespace

client open_to_look(const std::string& url) {
    client_options ours;
    ours.purpose = "holdfast";
    return open(url, ours);
}

std::vector<lock_info> sorted(std::vector<lock_info> locks) {
    std::erase_if(
        locks, [](const lock_info& lock) { return lock.holders.empty() && lock.waiters.empty(); });
    std::sort(locks.begin(), locks.end(), [](const lock_info& left, const lock_info& right) {
        return left.name < right.name;
    });
    return locks;
}

lock_info find_lock(const client& engine, const std::string& name) {
    for (auto& lock : engine.inspect(pattern_for(name))) {
        if (lock.name == name) {
            return std::move(lock);
        }
    }
    return {.name = name, .holders = {}, .waiters = {}};
}

std::string_view name_of(mode which) noexcept {
    switch (which) {
    case mode::shared:
        return "shared";
    case mode::permit:
        return "permit";
    case mode::exclusive:
        break;
    }
    return "exclusive";
}

std::string described(const party& who) {
    std::string text = printable(who.host);
    const auto add = [&text](const std::string& part) {
        text += (text.empty() || part.empty() ? "" : " ") + part;
    };
    add(who.pid > 0 ? "pid " + std::to_string(who.pid) : ""); // other libraries do not tell theirs
    add(printable(who.purpose));
    return text.empty() ? "somebody" : text;
}

void write_holders(json& out, const std::vector<holder_info>& holders) {
    out.key("holders").begin_array();
    for (const auto& holder : holders) {
        write_holder(out, holder);
    }
    out.end_array();
}

void write_members(json& out, const lock_info& lock) {
    out.member("name", std::string_view{lock.name});
    write_holders(out, lock.holders);
    out.key("waiters").begin_array();
    for (const auto& waiter : lock.waiters) {
        write_waiter(out, waiter);
    }
    out.end_array();
}

} // namespace holdfast::cli
