// `holdfast release NAME --force`: an operator takes a lock away. Its holder learns of it with its
// next renewal and has lost it; until then both it and the next holder may be at work. With --ask
// the holder is told that somebody wants it, and does what it likes.

#include "durations.hpp"
#include "exit_codes.hpp"
#include "inspecting.hpp"
#include "terminal.hpp"
#include "text.hpp"

#include <holdfast/primitive.hpp>

#include <string>

namespace holdfast::cli {

namespace {

std::string as_text(const lock_info& before, std::size_t released, bool ask) {
    if (released == 0) {
        return "nobody holds '" + printable(before.name) + "'\n";
    }
    const std::string did = ask ? "asked for '" + printable(before.name) + "': "
                                : "took '" + printable(before.name) + "' from ";
    const std::string held = ask ? ", which has held it for " : ", which held it for ";
    std::string text;
    for (const auto& holder : before.holders) {
        text += did + described(holder.who) + held + human(holder.held_for) + "\n";
    }
    // Who held it may have changed between our look and our act.
    return text.empty() ? did + "its holder\n" : text;
}

std::string as_json(const lock_info& before, std::size_t released, bool ask) {
    json out;
    out.begin_object()
        .member("name", std::string_view{before.name})
        .member(ask ? "asked" : "released", static_cast<std::int64_t>(released));
    write_holders(out, released == 0 ? std::vector<holder_info>{} : before.holders);
    return out.end_object().text() + "\n";
}

} // namespace

int release(const inspect_options& options) {
    check_name(options.name);
    const auto engine = open_to_look(options.url);
    const auto before = find_lock(engine, options.name);
    const auto released =
        options.ask ? engine.ask_release(options.name) : engine.force_release(options.name);
    print(options.format == format::json ? as_json(before, released, options.ask)
                                         : as_text(before, released, options.ask));
    return released == 0 ? exit_code::contended : exit_code::success;
}

} // namespace holdfast::cli
