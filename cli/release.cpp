// `holdfast release NAME --force`: an operator takes a lock away. Its holder learns of it with its
// next renewal and has lost it; until then both it and the next holder may be at work.

#include "durations.hpp"
#include "exit_codes.hpp"
#include "inspecting.hpp"
#include "terminal.hpp"
#include "text.hpp"

#include <holdfast/primitive.hpp>

#include <string>

namespace holdfast::cli {

namespace {

std::string as_text(const lock_info& before, std::size_t released) {
    if (released == 0) {
        return "nobody holds '" + printable(before.name) + "'\n";
    }
    std::string text;
    for (const auto& holder : before.holders) {
        text += "took '" + printable(before.name) + "' from " + described(holder.who) +
                ", which held it for " + human(holder.held_for) + "\n";
    }
    // Who held it may have changed between our look and our act.
    return text.empty() ? "took '" + printable(before.name) + "' from its holder\n" : text;
}

std::string as_json(const lock_info& before, std::size_t released) {
    json out;
    out.begin_object()
        .member("name", std::string_view{before.name})
        .member("released", static_cast<std::int64_t>(released));
    write_holders(out, released == 0 ? std::vector<holder_info>{} : before.holders);
    return out.end_object().text() + "\n";
}

} // namespace

int release(const inspect_options& options) {
    check_name(options.name);
    const auto engine = open_to_look(options.url);
    const auto before = find_lock(engine, options.name);
    const auto released = engine.force_release(options.name);
    print(options.format == format::json ? as_json(before, released) : as_text(before, released));
    return released == 0 ? exit_code::contended : exit_code::success;
}

} // namespace holdfast::cli
