#include "text.hpp"
#include "character_width.hpp"

#include <algorithm>
#include <array>

namespace holdfast::cli {

namespace {

bool continues(std::string_view text, std::size_t at) noexcept {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
}

/// Overlong forms, surrogates and what lies beyond U+10FFFF are excluded by the second byte.
bool second_byte_fits(unsigned char first, unsigned char second) noexcept {
    switch (first) {
    case 0xE0:
        return second >= 0xA0;
    case 0xED:
        return second < 0xA0;
    case 0xF0:
        return second >= 0x90;
    case 0xF4:
        return second < 0x90;
    default:
        return true;
    }
}

std::size_t length_announced_by(unsigned char first) noexcept {
    if (first < 0x80) {
        return 1;
    }
    if (first >= 0xC2 && first <= 0xDF) {
        return 2;
    }
    if (first >= 0xE0 && first <= 0xEF) {
        return 3;
    }
    return first >= 0xF0 && first <= 0xF4 ? 4 : 0;
}

bool is_control(std::string_view character) noexcept {
    const auto first = static_cast<unsigned char>(character[0]);
    const bool c1 =
        character.size() == 2 && first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
    return first < 0x20 || first == 0x7F || c1;
}

std::string escaped(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    if (bytes == "\n") {
        return "\\n";
    }
    if (bytes == "\t") {
        return "\\t";
    }
    std::string out;
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        out += {'\\', 'x', digits[byte >> 4U], digits[byte & 15U]};
    }
    return out;
}

struct character_cell {
    std::size_t bytes;
    std::size_t columns;
};

character_cell character_at(std::string_view text, std::size_t at) noexcept {
    const auto bytes = utf8_length(text, at);
    if (bytes <= 1) {
        return {.bytes = 1, .columns = 1};
    }
    return {.bytes = bytes, .columns = width_of_character(code_point_of(text.substr(at, bytes)))};
}

bool needs_quotes(std::string_view argument) {
    return argument.empty() || argument.find_first_of(" \t\n'\"") != std::string_view::npos;
}

struct stretch {
    std::size_t begin;
    std::size_t end;
};

/// Where passwords stand: user:HERE@host, one in each authority (a quorum has several), and
/// password=HERE.
std::vector<stretch> secrets_in(std::string_view url) {
    std::vector<stretch> found;
    for (auto mark = url.find("://"); mark != url.npos; mark = url.find("://", mark + 3)) {
        const auto authority = mark + 3;
        const auto end = std::min(url.find_first_of("/?", authority), url.size());
        const auto at = url.substr(0, end).rfind('@');
        const auto colon = url.find(':', authority);
        if (at != url.npos && at > authority && colon < at) {
            found.push_back({colon + 1, at});
        }
    }
    constexpr std::string_view option = "password=";
    for (auto mark = url.find(option); mark != url.npos; mark = url.find(option, mark + 1)) {
        const auto begin = mark + option.size();
        found.push_back({begin, std::min(url.find_first_of("&, ", begin), url.size())});
    }
    return found;
}

} // namespace

std::size_t utf8_length(std::string_view text, std::size_t at) noexcept {
    const auto first = static_cast<unsigned char>(text[at]);
    const std::size_t length = length_announced_by(first);
    for (std::size_t i = 1; i < length; ++i) {
        if (!continues(text, at + i)) {
            return 0;
        }
    }
    if (length > 1 && !second_byte_fits(first, static_cast<unsigned char>(text[at + 1]))) {
        return 0;
    }
    return length;
}

char32_t code_point_of(std::string_view character) noexcept {
    constexpr std::array<unsigned, 5> payload{0, 0x7F, 0x1F, 0x0F, 0x07}; // of the first byte
    char32_t code = static_cast<unsigned char>(character[0]) & payload.at(character.size());
    for (const char c : character.substr(1)) {
        code = (code << 6U) | (static_cast<unsigned char>(c) & 0x3FU);
    }
    return code;
}

std::string printable(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = utf8_length(text, at);
        const auto character = text.substr(at, std::max<std::size_t>(length, 1));
        out += length == 0 || is_control(character) ? escaped(character) : std::string{character};
        at += character.size();
    }
    return out;
}

std::size_t columns_of(std::string_view text) noexcept {
    std::size_t columns = 0;
    for (std::size_t at = 0; at < text.size();) {
        const auto character = character_at(text, at);
        columns += character.columns;
        at += character.bytes;
    }
    return columns;
}

std::string shortened(std::string_view text, std::size_t columns) {
    if (columns_of(text) <= columns) {
        return std::string{text};
    }
    std::size_t at = 0;
    for (std::size_t used = 0; at < text.size();) {
        const auto character = character_at(text, at);
        used += character.columns;
        if (used + 1 > columns) { // the … needs one
            break;
        }
        at += character.bytes;
    }
    return std::string{text.substr(0, at)} + (columns == 0 ? "" : "…");
}

std::string fitted(std::string_view text, std::size_t columns) {
    auto fitting = shortened(text, columns);
    fitting.append(columns - columns_of(fitting), ' ');
    return fitting;
}

std::string without_last_character(std::string_view text) {
    auto end = text.size();
    while (end > 0 && continues(text, end - 1)) {
        --end;
    }
    return std::string{text.substr(0, end - std::min<std::size_t>(end, 1))};
}

std::vector<std::string> wrapped(std::string_view text, std::size_t columns) {
    std::vector<std::string> lines{""};
    while (!text.empty()) {
        const auto end = std::min(text.find(' '), text.size());
        const auto word = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (!lines.back().empty() && columns_of(lines.back()) + 1 + columns_of(word) > columns) {
            lines.emplace_back();
        }
        lines.back() += lines.back().empty() ? "" : " ";
        lines.back() += word;
    }
    return lines;
}

std::string command_line(const std::vector<std::string>& arguments) {
    std::string line;
    for (const auto& argument : arguments) {
        line += line.empty() ? "" : " ";
        line += needs_quotes(argument) ? "'" + argument + "'" : argument;
    }
    return line;
}

std::string pattern_for(std::string_view name) {
    std::string pattern;
    for (const char c : name) {
        switch (c) {
        case '*':
        case '?':
        case '[':
            pattern += {'[', c, ']'};
            break;
        case '\\': // some globs escape with it, some do not
            pattern += '?';
            break;
        default:
            pattern += c;
        }
    }
    return pattern;
}

void hide_password(char* argument) {
    for (const auto& secret : secrets_in(argument)) {
        std::fill(argument + secret.begin, argument + secret.end, '*');
    }
}

std::string without_password(std::string_view url) {
    std::string shown{url};
    auto secrets = secrets_in(url);
    std::sort(secrets.begin(), secrets.end(), [](const stretch& left, const stretch& right) {
        return left.begin > right.begin; // from the back, so that the places before stay valid
    });
    for (const auto& secret : secrets) {
        shown.replace(secret.begin, secret.end - secret.begin, "***");
    }
    return shown;
}

} // namespace holdfast::cli
