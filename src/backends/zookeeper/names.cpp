#include "backends/zookeeper/names.hpp"
#include "lease/defect.hpp"

#include <algorithm>
#include <cctype>

namespace holdfast::zookeeper {
namespace {

constexpr char digits[] = "0123456789abcdef";
constexpr char capitals[] = "0123456789ABCDEF";

// Where the dashes of a UUID are: after so many bytes.
[[nodiscard]] constexpr bool dash_before(std::size_t byte) {
    return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

[[nodiscard]] int value_of(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

[[nodiscard]] std::string_view mark_of(role as) {
    switch (as) {
    case role::reader:
        return "__READ__";
    case role::writer:
        return "__WRIT__";
    case role::lease:
        return "lease-";
    case role::lock:
        break;
    }
    return "lock-";
}

/// What "%010d" makes of a number: ten digits, or after the counter has wrapped a '-' and nine or
/// ten.
[[nodiscard]] bool is_number(std::string_view text) {
    const bool negative = text.starts_with('-');
    const auto number = text.substr(negative ? 1 : 0);
    return (number.size() == 10 || (negative && number.size() == 9)) &&
           std::all_of(
               number.begin(), number.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// How many bytes from here on are one character, and whether ZooKeeper takes it in a path: it
/// looks at UTF-16, where whatever needs four bytes in UTF-8 consists of two forbidden halves.
struct character {
    std::size_t bytes;
    bool allowed;
};

[[nodiscard]] character look_at(std::string_view text) {
    constexpr character not_utf8{1, false};
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const auto first = byte(0);
    if (first < 0x80)
        return {1, first >= 0x20 && first != 0x7F};
    const std::size_t bytes = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (bytes == 0 || first > 0xF4 || bytes > text.size())
        return not_utf8;
    std::uint32_t c = first & (0x7FU >> bytes);
    for (std::size_t i = 1; i < bytes; ++i) {
        if ((byte(i) & 0xC0U) != 0x80)
            return not_utf8;
        c = c << 6 | (byte(i) & 0x3FU);
    }
    const bool too_long = bytes == 3 && c < 0x800;
    const bool forbidden = c <= 0x9F || (c >= 0xD800 && c <= 0xF8FF) || c >= 0xFFF0;
    return {too_long ? 1 : bytes, !too_long && !forbidden};
}

void put_encoded(std::string& to, std::string_view bytes) {
    for (const char one : bytes) {
        const auto c = static_cast<unsigned char>(one);
        to.push_back('%');
        to.push_back(capitals[c >> 4]);
        to.push_back(capitals[c & 15]);
    }
}

} // namespace

std::string prefix_of(const nonce& n) {
    std::string made = "_c_";
    made.reserve(60);
    for (std::size_t i = 0; i < n.bytes.size(); ++i) {
        if (dash_before(i))
            made.push_back('-');
        made.push_back(digits[n.bytes[i] >> 4]);
        made.push_back(digits[n.bytes[i] & 15]);
    }
    made.push_back('-');
    return made;
}

std::string unnumbered(const nonce& n, role as) { return prefix_of(n).append(mark_of(as)); }

std::optional<nonce> nonce_in(std::string_view node) {
    constexpr std::size_t length = 40;
    if (node.size() < length || !node.starts_with("_c_") || node[length - 1] != '-')
        return std::nullopt;
    nonce found;
    std::size_t at = 3;
    for (std::size_t i = 0; i < found.bytes.size(); ++i) {
        if (dash_before(i) && node[at++] != '-')
            return std::nullopt;
        const int high = value_of(node[at]);
        const int low = value_of(node[at + 1]);
        if (high < 0 || low < 0)
            return std::nullopt;
        found.bytes[i] = static_cast<unsigned char>(high * 16 + low);
        at += 2;
    }
    return found;
}

// Encoded: what would end the name or is forbidden in a path, and '%' itself, so that no two names
// meet.
// "/zookeeper" belongs to the server.
std::string path_of(std::string_view root, std::string_view name) {
    std::string path{root};
    if (name.starts_with('/'))
        return path.append(name);
    path.push_back('/');
    if (name == "." || name == ".." || name == "zookeeper") {
        put_encoded(path, name.substr(0, 1));
        name.remove_prefix(1);
    }
    while (!name.empty()) {
        const auto c = look_at(name);
        if (name[0] == '/' || name[0] == '%' || !c.allowed)
            put_encoded(path, name.substr(0, c.bytes));
        else
            path.append(name.substr(0, c.bytes));
        name.remove_prefix(c.bytes);
    }
    return path;
}

const char* what_is_wrong_with_path(std::string_view name) noexcept {
    if (!name.starts_with('/'))
        return nullptr;
    if (name == "/" || name.ends_with('/'))
        return "a path does not end with '/'";
    if (name == "/zookeeper" || name.starts_with("/zookeeper/"))
        return "/zookeeper belongs to the server";
    auto rest = name.substr(1);
    for (;;) {
        const auto end = rest.find('/');
        const auto part = rest.substr(0, end);
        if (part.empty())
            return "a path has no empty parts";
        if (part == "." || part == "..")
            return "a path has no parts '.' and '..'";
        for (auto left = part; !left.empty();) {
            const auto c = look_at(left);
            if (!c.allowed)
                return "it has a character that ZooKeeper allows in no path";
            left.remove_prefix(c.bytes);
        }
        if (end == std::string_view::npos)
            return nullptr;
        rest.remove_prefix(end + 1);
    }
}

std::string name_of_child(std::string_view node) {
    std::string name;
    for (std::size_t i = 0; i < node.size(); ++i) {
        const bool whole = node[i] == '%' && i + 2 < node.size();
        const int high = whole ? value_of(node[i + 1]) : -1;
        const int low = whole ? value_of(node[i + 2]) : -1;
        if (high < 0 || low < 0) {
            name.push_back(node[i]);
            continue;
        }
        name.push_back(static_cast<char>(high * 16 + low));
        i += 2;
    }
    return name;
}

std::vector<std::string> folders_to(std::string_view path) {
    std::vector<std::string> all;
    for (std::size_t at = path.find('/', 1); at != std::string_view::npos;
         at = path.find('/', at + 1))
        all.emplace_back(path.substr(0, at));
    all.emplace_back(path);
    return all;
}

// Curator sorts by what follows the last mark, and knows only the mark of its own recipe.
std::optional<ticket_of> read_ticket(std::string_view node) {
    for (const auto as : {role::reader, role::writer, role::lease, role::lock}) {
        const auto mark = mark_of(as);
        const auto at = node.rfind(mark);
        if (at == std::string_view::npos)
            continue;
        const auto number = node.substr(at + mark.size());
        if (is_number(number))
            return ticket_of{as, number};
    }
    return std::nullopt;
}

standing stand_of(std::string_view mine, const std::vector<std::string>& children, company with) {
    const auto me = read_ticket(mine);
    standing s;
    if (!me || std::find(children.begin(), children.end(), mine) == children.end())
        return s;
    const bool i_read = me->as == role::reader;
    const auto of_my_kind = [&](role other) {
        return with == company::ours ? other != role::lease
                                     : (other == role::lock) == (me->as == role::lock);
    };
    bool only_locks = me->as == role::lock;
    bool wrapped = me->number.starts_with('-');
    std::string_view nearest;
    for (const auto& child : children) {
        const auto other = read_ticket(child);
        if (!other || !of_my_kind(other->as)) {
            s.how = standing::is::foreign;
            s.other = child;
            return s;
        }
        only_locks = only_locks && other->as == role::lock;
        wrapped = wrapped || other->number.starts_with('-');
        if (other->number > me->number) {
            s.others_follow = true;
            continue;
        }
        // A reader under its own write has the number of that write, and belongs to it.
        if (child == mine || other->number == me->number || (i_read && other->as == role::reader))
            continue;
        ++s.before;
        if (s.other.empty() || other->number > nearest) {
            s.other = child;
            nearest = other->number;
        }
    }
    s.how = s.before == 0 ? standing::is::first : standing::is::behind;
    // Behind a writer, a reader may still appear under that write, with its number: a writer must
    // look again.
    s.next = s.before == 1 && !wrapped &&
             (only_locks || i_read || detail::has(detail::defect::zookeeper_writers_next));
    return s;
}

} // namespace holdfast::zookeeper
