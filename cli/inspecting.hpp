#pragma once

// What `ls`, `show` and `release` have in common: their options, and how locks are written down.

#include "json.hpp"

#include <holdfast/client.hpp>
#include <holdfast/inspect.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

/// How an answer is wanted.
enum class format { text, json };

struct inspect_options {
    std::string url;
    cli::format format = format::text;
    std::string pattern = "*"; ///< for ls
    bool names_only = false;   ///< for ls
    std::string name;          ///< for show and release
    bool ask = false;          ///< for release: the holder decides
};

/// Print their answer and return the exit code.
[[nodiscard]] int ls(const inspect_options&);
[[nodiscard]] int show(const inspect_options&);
[[nodiscard]] int release(const inspect_options&);

/// Opens the engine the way these verbs do: nothing is held, nothing is left behind.
[[nodiscard]] client open_to_look(const std::string& url);

/// By name, without those that nobody holds or waits for.
[[nodiscard]] std::vector<lock_info> sorted(std::vector<lock_info>);

/// One name. Empty lists if nobody holds it or waits for it.
[[nodiscard]] lock_info find_lock(const client&, const std::string& name);

[[nodiscard]] std::string_view name_of(mode) noexcept;

/// "db1 pid 4711 backup --full", fit for a terminal; "somebody" if nothing is known.
[[nodiscard]] std::string described(const party&);

/// {"name": …, "holders": […], "waiters": […]}, without the braces.
void write_members(json&, const lock_info&);
void write_holders(json&, const std::vector<holder_info>&);

} // namespace holdfast::cli
