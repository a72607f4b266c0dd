#include "interop/dump.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <random>
#include <sstream>

namespace holdfast::interop {

std::string renamed(std::string text, const names& called) {
    for (const auto& [real, name] : called)
        for (auto at = text.find(real); at != std::string::npos;
             at = text.find(real, at + name.size()))
            text.replace(at, real.size(), name);
    return text;
}

namespace {

using namespace std::chrono_literals;
using servers::redis_server;

bool is_text(const std::string& bytes) {
    return std::all_of(
        bytes.begin(), bytes.end(), [](unsigned char c) { return std::isprint(c) != 0; });
}

std::string readable(const std::string& bytes) {
    if (is_text(bytes))
        return bytes;
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text = "0x";
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        text += digits[byte >> 4U];
        text += digits[byte & 15U];
    }
    return text;
}

/// Rounded up, so that a slow machine sees the same.
std::string at_most(double milliseconds) {
    return "<=" + std::to_string(static_cast<long>(std::ceil(milliseconds / 5000)) * 5) + "s";
}

double server_time(const redis_server& server) {
    const auto now = server.ask({"TIME"});
    return std::stod(now.items.at(0).text) * 1000 + std::stod(now.items.at(1).text) / 1000;
}

std::string score(const redis_server& server, const std::string& text) {
    const auto value = std::stod(text);
    const auto from_now = value - server_time(server);
    constexpr double a_day = 86'400'000;
    return std::abs(from_now) < a_day ? at_most(from_now) : text;
}

std::string line(const std::string& text) { return "  " + text + '\n'; }

std::vector<std::string>
contents(const redis_server& server, const std::string& key, const std::string& type) {
    std::vector<std::string> lines;
    if (type == "string")
        lines.push_back(line(readable(server.ask({"GET", key}).text)));
    if (type == "list")
        for (const auto& item : server.ask({"LRANGE", key, "0", "-1"}).items)
            lines.push_back(line(readable(item.text)));
    if (type == "hash") {
        const auto all = server.ask({"HGETALL", key}).items;
        for (std::size_t i = 0; i + 1 < all.size(); i += 2)
            lines.push_back(line(readable(all[i].text) + " = " + readable(all[i + 1].text)));
    }
    if (type == "zset") {
        const auto all = server.ask({"ZRANGE", key, "0", "-1", "WITHSCORES"}).items;
        for (std::size_t i = 0; i + 1 < all.size(); i += 2)
            lines.push_back(line(readable(all[i].text) + " @ " + score(server, all[i + 1].text)));
    }
    return lines;
}

} // namespace

std::string dump(const redis_server& server, const names& called) {
    std::vector<std::string> entries;
    for (const auto& item : server.ask({"KEYS", "*"}).items) {
        const auto& key = item.text;
        const auto type = server.ask({"TYPE", key}).text;
        const auto left = server.ask({"PTTL", key}).number;
        auto lines = contents(server, key, type);
        for (auto& one : lines)
            one = renamed(one, called);
        if (type == "hash") // whose fields have no order
            std::sort(lines.begin(), lines.end());
        auto entry = renamed(readable(key), called) + ' ' + type +
                     (left >= 0 ? ' ' + at_most(static_cast<double>(left)) : "") + '\n';
        for (const auto& one : lines)
            entry += one;
        if (left != -2) // it has expired while we looked
            entries.push_back(entry);
    }
    std::sort(entries.begin(), entries.end());
    std::string all;
    for (const auto& entry : entries)
        all += entry;
    return all;
}

std::string
dump_when(const std::string& expected, const redis_server& server, const names& called) {
    std::string last;
    static_cast<void>(cli_tests::comes_true(30s, [&] {
        last = dump(server, called);
        return last == expected;
    }));
    return last;
}

namespace {

std::string without_ids(const std::string& line) {
    const auto is_id = [](char c) {
        return std::isxdigit(static_cast<unsigned char>(c)) || c == '-';
    };
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    std::string text;
    for (auto at = line.begin(); at != line.end();) {
        auto end = std::find_if_not(at, line.end(), is_id);
        if (end - at < 32) {
            end = end == at ? end + 1 : end;
            text.append(at, end);
        } else {
            text += "SOMEBODY";
            if (end != line.end() && (*end == ':' || *end == '.')) {
                const auto number = end[1] == '-' ? end + 2 : end + 1;
                const auto behind = std::find_if_not(number, line.end(), is_digit);
                end = behind == number ? end : behind;
            }
        }
        at = end;
    }
    return text;
}

} // namespace

std::string anonymous(const std::string& dump, const std::vector<std::string>& left_out) {
    std::vector<std::string> entries;
    bool keep = true;
    std::istringstream lines{dump};
    for (std::string text; std::getline(lines, text);) {
        if (!text.starts_with(' ')) {
            keep = std::none_of(left_out.begin(), left_out.end(), [&](const std::string& begin) {
                return text.starts_with(begin);
            });
            if (keep)
                entries.emplace_back();
        }
        if (keep)
            entries.back() += without_ids(text) + '\n';
    }
    std::sort(entries.begin(), entries.end()); // they were in the order of who they are of
    std::string kept;
    for (const auto& entry : entries)
        kept += entry;
    return kept;
}

// --------------------------------------------------------------------------- listening to a server

eavesdropper::eavesdropper(const redis_server& server) : server_{server}, link_{server.link()} {
    link_.ask({"PSUBSCRIBE", "*"});
}

std::optional<std::string> eavesdropper::next(const names& called,
                                              std::chrono::milliseconds within) {
    const auto heard = link_.hear(within);
    if (!heard)
        return std::nullopt;
    return renamed(heard->items.at(2).text + ' ' + heard->items.at(3).text, called);
}

bool eavesdropper::is_silent() {
    server_.ask({"PUBLISH", "silence", "?"}); // what comes before it was there before it
    return next() == "silence ?";
}

monitor::monitor(const redis_server& server) : server_{server}, link_{server.link()} {
    link_.ask({"MONITOR"});
}

std::vector<std::string> monitor::so_far() {
    std::vector<std::string> lines;
    const auto mark = "mark-" + std::to_string(std::random_device{}());
    server_.ask({"ECHO", mark});
    while (const auto heard = link_.hear()) {
        if (heard->text.find(mark) != std::string::npos)
            break;
        lines.push_back(heard->text);
    }
    return lines;
}

} // namespace holdfast::interop
