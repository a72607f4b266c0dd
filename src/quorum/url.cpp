#include "quorum/url.hpp"
#include "client/engine_entry.hpp"

#include <holdfast/error.hpp>

#include <algorithm>
#include <string>

namespace holdfast::quorum {
namespace {

constexpr std::size_t members_at_most = 15;
constexpr const char* example = "write quorum:URL,URL,URL or quorum:strong,URL,URL,URL";

[[nodiscard]] std::string_view scheme_of(std::string_view text) {
    return text.substr(0, text.find_first_of(":,"));
}

[[nodiscard]] bool begins_with_a_url(std::string_view text) {
    const auto scheme = scheme_of(text);
    return scheme.size() < text.size() && text[scheme.size()] == ':' &&
           detail::is_known_scheme(scheme);
}

[[nodiscard]] std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> all;
    for (std::size_t comma = 0; (comma = text.find(',', comma)) != std::string_view::npos; ++comma)
        if (begins_with_a_url(text.substr(comma + 1))) {
            all.push_back(text.substr(0, comma));
            text.remove_prefix(comma + 1);
            comma = 0;
        }
    all.push_back(text);
    return all;
}

} // namespace

url_parts read_url(std::string_view rest) {
    url_parts parts;
    if (rest.starts_with("strong,")) {
        parts.strong = true;
        rest.remove_prefix(7);
    }
    if (!begins_with_a_url(rest))
        throw_error(errc::bad_option,
                    std::string{"quorum: is followed by the URLs of its members; "} + example);
    parts.members = split(rest);
    const auto kind = scheme_of(parts.members.front());
    for (std::size_t i = 0; i < parts.members.size(); ++i) {
        const auto scheme = scheme_of(parts.members[i]);
        if (scheme == "quorum")
            throw_error(errc::bad_option, "a quorum cannot be a member of a quorum");
        if (scheme != kind)
            throw_error(errc::bad_option,
                        "the members of a quorum are of one kind, but these begin with " +
                            std::string{kind} + ": and " + std::string{scheme} + ":");
        const auto first = parts.members.begin();
        if (std::find(first, first + static_cast<std::ptrdiff_t>(i), parts.members[i]) !=
                first + static_cast<std::ptrdiff_t>(i) &&
            scheme != "memory")
            throw_error(errc::bad_option,
                        "member " + std::to_string(i + 1) +
                            " of the quorum is named twice: members must be independent");
    }
    check_count(parts.members.size());
    return parts;
}

void check_count(std::size_t members) {
    if (members < 3)
        throw_error(errc::bad_option,
                    "a quorum needs at least three members, of which one may fail; there are " +
                        std::to_string(members));
    if (members % 2 == 0)
        throw_error(errc::bad_option,
                    "a quorum has an odd number of members: " + std::to_string(members) +
                        " survive no more failures than " + std::to_string(members - 1));
    if (members > members_at_most)
        throw_error(errc::bad_option,
                    "a quorum has at most " + std::to_string(members_at_most) + " members");
}

} // namespace holdfast::quorum
