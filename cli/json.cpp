#include "json.hpp"
#include "text.hpp"

namespace holdfast::cli {

namespace {

std::string escaped(char c) {
    constexpr std::string_view digits = "0123456789abcdef";
    switch (c) {
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    case '\n':
        return "\\n";
    case '\t':
        return "\\t";
    default:
        break;
    }
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7F) {
        return {c};
    }
    return {'\\', 'u', '0', '0', digits[byte >> 4U], digits[byte & 15U]};
}

/// JSON is UTF-8, command lines are bytes: what is not UTF-8 becomes U+FFFD.
std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = utf8_length(text, at);
        if (length == 0) {
            out += "\\ufffd";
            ++at;
            continue;
        }
        out += length == 1 ? escaped(text[at]) : std::string{text.substr(at, length)};
        at += length;
    }
    return out + "\"";
}

} // namespace

void json::separate() {
    if (!first_) {
        text_ += ',';
    }
    first_ = false;
}

json& json::literal(std::string_view literal) {
    separate();
    text_ += literal;
    return *this;
}

json& json::open(char bracket) {
    separate();
    text_ += bracket;
    first_ = true;
    return *this;
}

json& json::close(char bracket) {
    text_ += bracket;
    first_ = false;
    return *this;
}

json& json::key(std::string_view name) {
    separate();
    text_ += quoted(name) + ":";
    first_ = true; // its value follows without a comma
    return *this;
}

json& json::value(std::string_view content) { return literal(quoted(content)); }
json& json::value(std::nullptr_t) { return literal("null"); }

} // namespace holdfast::cli
