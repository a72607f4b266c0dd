#pragma once

// The steps that the server takes as one. Each text says what it does to the keys; the layout is in
// names.hpp. All of them compare the holder before they change anything.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::redis {

/// How many numbers one grant may use: the fence, and one for each of 64 passes inside one client.
inline constexpr std::int64_t fences_per_grant = 65;

struct script {
    std::string text;
    std::string sha;    ///< what EVALSHA calls it
    std::string called; ///< these two words, as they are sent

    explicit script(std::string_view body);
};

struct scripts {
    script take, give_back, prolong, raise;       // one holder: plain, reentrant, spin
    script queue_up, give_back_fair;              // in order
    script read, give_back_read, prolong_read;    //
    script write, give_back_write, prolong_write; //
    script take_permit, take_plain_permit, give_back_permit, prolong_permit;
    script take_by_force, look;                           //
    script take_string, give_back_string, prolong_string; // layout=plain

    scripts();
};

/// Made once, when first needed: texts and their digests never change.
[[nodiscard]] const scripts& all_scripts();

/// Those that a request may need which must not be overtaken by the next one.
[[nodiscard]] std::array<const script*, 19> scripts_to_load();

} // namespace holdfast::redis
