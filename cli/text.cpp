#include "text.hpp"

#include <algorithm>

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
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    }));
}

std::string shortened(std::string_view text, std::size_t characters) {
    if (columns_of(text) <= characters) {
        return std::string{text};
    }
    std::size_t at = 0;
    for (std::size_t kept = 0; kept + 1 < characters && at < text.size(); ++kept) {
        at += std::max<std::size_t>(utf8_length(text, at), 1);
    }
    return std::string{text.substr(0, at)} + (characters == 0 ? "" : "…");
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
