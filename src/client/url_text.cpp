#include "client/url_text.hpp"

#include <holdfast/error.hpp>

#include <charconv>
#include <fstream>

namespace holdfast::detail {
namespace {

constexpr std::int64_t longest_ms = std::int64_t{36'525} * 86'400'000;

[[nodiscard]] int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

template <class T> [[nodiscard]] bool number(std::string_view text, T& value) {
    const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), value);
    return bad == std::errc{} && end == text.data() + text.size() && !text.empty();
}

/// " 'name'" if it can be one of an option. Else it may be the rest of a password with a ? in it.
[[nodiscard]] std::string quoted(std::string_view name) {
    const bool is_name = !name.empty() && name.size() <= 40 &&
                         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_-") == name.npos;
    return is_name ? " '" + std::string{name} + "'" : std::string{};
}

} // namespace

void url_text::refuse(const std::string& sentence) const {
    throw_error(errc::bad_option, std::string{engine_} + ": " + sentence);
}

// The text is not in the message: it may be a password.
std::string url_text::decoded(std::string_view text, const char* what) const {
    std::string made;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            made.push_back(text[i]);
            continue;
        }
        const bool whole = i + 2 < text.size();
        const int high = whole ? hex_digit(text[i + 1]) : -1;
        const int low = whole ? hex_digit(text[i + 2]) : -1;
        if (high < 0 || low < 0)
            refuse(std::string{"in the "} + what + ", % stands before two hexadecimal digits");
        made.push_back(static_cast<char>(high * 16 + low));
        i += 2;
    }
    if (made.find('\0') != std::string::npos)
        refuse(std::string{"the "} + what + " contains no NUL");
    return made;
}

std::pair<std::string, int> url_text::address(std::string_view text, int usual_port) const {
    std::string host;
    int to = usual_port;
    std::string_view port;
    if (text.starts_with('[')) {
        const auto close = text.find(']');
        if (close == std::string_view::npos)
            refuse("an IPv6 address stands in brackets, as in [::1]:" + std::to_string(usual_port));
        host = text.substr(1, close - 1);
        const auto rest = text.substr(close + 1);
        if (!rest.empty() && rest.front() != ':')
            refuse("after the bracket of an IPv6 address comes :port or nothing");
        port = rest.empty() ? rest : rest.substr(1);
        if (rest == ":")
            refuse("a colon after the host is followed by the port");
    } else {
        const auto colon = text.find(':');
        host = decoded(text.substr(0, colon), "host");
        if (colon != std::string_view::npos) {
            port = text.substr(colon + 1);
            if (port.empty())
                refuse("a colon after the host is followed by the port");
        }
    }
    if (host.empty())
        host = "127.0.0.1";
    if (host.size() > 255)
        refuse("a host's name has at most 255 characters");
    // What stands there is not in the message: in redis://:secret somebody forgot the @host.
    if (!port.empty() && (!number(port, to) || to < 1 || to > 65535))
        refuse("after the host's colon comes its port, 1 to 65535; a password ends with @, "
               "and an IPv6 address stands in brackets");
    return {std::move(host), to};
}

std::vector<std::pair<std::string, int>> url_text::addresses(std::string_view text,
                                                             int usual_port) const {
    std::vector<std::pair<std::string, int>> all;
    for (;;) {
        const auto comma = text.find(',');
        all.push_back(address(text.substr(0, comma), usual_port));
        if (comma == std::string_view::npos)
            return all;
        text.remove_prefix(comma + 1);
    }
}

duration url_text::time(std::string_view name, std::string_view text) const {
    std::int64_t count = 0;
    const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), count);
    const std::string_view unit{end, static_cast<std::size_t>(text.data() + text.size() - end)};
    std::int64_t ms = -1;
    if (bad == std::errc{} && count >= 0 && count <= 1'000'000'000) {
        if (unit == "ms")
            ms = count;
        else if (unit == "s" || unit.empty())
            ms = count * 1000;
        else if (unit == "m")
            ms = count * 60'000;
        else if (unit == "h")
            ms = count * 3'600'000;
        else if (unit == "d")
            ms = count * 86'400'000;
    }
    if (ms < 0)
        refuse(std::string{name} + " is a time such as 500ms, 3s, 5m, 2h or 30d");
    if (ms > longest_ms)
        refuse(std::string{name} + " is a hundred years at most");
    return std::chrono::milliseconds{ms};
}

std::int64_t url_text::count(std::string_view name,
                             std::string_view text,
                             std::int64_t least,
                             std::int64_t most) const {
    std::int64_t value = 0;
    if (!number(text, value) || value < least || value > most)
        refuse(std::string{name} + " is a number from " + std::to_string(least) + " to " +
               std::to_string(most));
    return value;
}

bool url_text::yes_or_no(std::string_view name, std::string_view value) const {
    if (value != "yes" && value != "no")
        refuse(std::string{name} + " is yes or no");
    return value == "yes";
}

std::string url_text::secret(const std::string& path) const {
    std::ifstream file{path, std::ios::binary};
    std::string text;
    char bytes[4096];
    while (file.read(bytes, sizeof bytes) || file.gcount() > 0)
        text.append(bytes, static_cast<std::size_t>(file.gcount()));
    if (!file.is_open() || !file.eof()) // a folder can be opened, but not read
        refuse("the password file " + path + " cannot be read");
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r'))
        text.pop_back();
    if (text.empty())
        refuse("the password file " + path + " is empty");
    return text;
}

std::pair<std::string, std::string> url_text::user(std::string_view text) const {
    const auto colon = text.find(':');
    if (colon == std::string_view::npos)
        return {decoded(text, "user"), {}};
    return {decoded(text.substr(0, colon), "user"), decoded(text.substr(colon + 1), "password")};
}

void url_text::options(
    std::string_view& rest,
    const std::function<void(std::string_view name, const std::string& value)>& each) const {
    const auto mark = rest.find('?');
    if (mark == std::string_view::npos)
        return;
    auto asked = rest.substr(mark + 1);
    // Else what is left of a password with a ? in it would be taken for options, and shown.
    if (rest.find('@') > mark && asked.find('@') != std::string_view::npos)
        refuse("in a password ? is written %3F, and in an option @ is written %40");
    rest = rest.substr(0, mark);
    while (!asked.empty()) {
        const auto end = std::min(asked.find('&'), asked.size());
        const auto one = asked.substr(0, end);
        asked.remove_prefix(std::min(end + 1, asked.size()));
        if (one.empty())
            continue;
        const auto equals = one.find('=');
        if (equals == std::string_view::npos)
            refuse("an option is written name=value, but one" + quoted(one) + " has no value");
        each(one.substr(0, equals), decoded(one.substr(equals + 1), "value of an option"));
    }
}

void url_text::no_such_option(std::string_view name, const char* there_are) const {
    refuse("there is no option" + quoted(name) + "; there are " + there_are);
}

} // namespace holdfast::detail
