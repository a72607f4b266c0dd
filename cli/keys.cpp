#include "keys.hpp"
#include "text.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace holdfast::cli {

namespace {

using kind = key::kind;

struct sequence {
    std::string_view bytes;
    kind what;
};

/// Of the VT100 in both its modes, and of what came after it.
constexpr std::array sequences{sequence{"\x1b[A", kind::up},
                               sequence{"\x1bOA", kind::up},
                               sequence{"\x1b[B", kind::down},
                               sequence{"\x1bOB", kind::down},
                               sequence{"\x1b[5~", kind::page_up},
                               sequence{"\x1b[6~", kind::page_down},
                               sequence{"\x1b[H", kind::home},
                               sequence{"\x1bOH", kind::home},
                               sequence{"\x1b[1~", kind::home},
                               sequence{"\x1b[F", kind::end},
                               sequence{"\x1bOF", kind::end},
                               sequence{"\x1b[4~", kind::end}};

/// The length of a whole escape sequence at the front; 0 if it is not whole yet.
std::size_t length_of_sequence(std::string_view typed) noexcept {
    if (typed.size() < 2) {
        return 0;
    }
    if (typed[1] == 'O') {
        return typed.size() < 3 ? 0 : 3;
    }
    if (typed[1] != '[') {
        return 1; // an escape, and then something else
    }
    const auto last =
        std::find_if(typed.begin() + 2, typed.end(), [](char c) { return c >= '@' && c <= '~'; });
    return last == typed.end() ? 0 : static_cast<std::size_t>(last - typed.begin()) + 1;
}

/// Nothing if it is a key that means nothing to us.
std::optional<key> key_of(std::string_view bytes) {
    const auto known = std::find_if(
        sequences.begin(), sequences.end(), [&](const auto& one) { return one.bytes == bytes; });
    if (known != sequences.end()) {
        return key{.what = known->what};
    }
    const auto first = static_cast<unsigned char>(bytes.front());
    if (first == '\r' || first == '\n') {
        return key{.what = kind::enter};
    }
    if (first == 0x7F || first == '\b') {
        return key{.what = kind::backspace};
    }
    if (bytes == "\x1b") {
        return key{.what = kind::escape};
    }
    return first < 0x20 ? std::nullopt : std::optional{key{.text = std::string{bytes}}};
}

/// 0 if what is there is not whole yet.
std::size_t length_of_first(std::string_view typed, more_input more) noexcept {
    if (typed.front() != '\x1b') {
        return std::max<std::size_t>(utf8_length(typed, 0), 1);
    }
    const auto length = length_of_sequence(typed);
    return length == 0 && more == more_input::does_not_follow ? 1 : length;
}

} // namespace

std::vector<key> take_keys(std::string& typed, more_input more) {
    std::vector<key> keys;
    while (!typed.empty()) {
        const auto length = length_of_first(typed, more);
        if (length == 0) {
            break;
        }
        if (auto one = key_of(std::string_view{typed}.substr(0, length))) {
            keys.push_back(std::move(*one));
        }
        typed.erase(0, length);
    }
    return keys;
}

} // namespace holdfast::cli
