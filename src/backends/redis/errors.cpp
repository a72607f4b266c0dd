#include "backends/redis/errors.hpp"

namespace holdfast::redis {
namespace {

struct meaning {
    std::string_view word;
    errc code;
    applied effect;
    const char* sentence; // null: the server's own words
};

// The scripts look before they write, and Redis refuses a script before it begins: so these are
// certain. What is not listed can have come from anywhere.
constexpr meaning table[] = {
    {"NOAUTH", errc::backend_refused, applied::no, "the server wants a password"},
    {"WRONGPASS", errc::backend_refused, applied::no, "the server refused user or password"},
    {"DENIED",
     errc::backend_refused,
     applied::no,
     "the server is in protected mode: it lets in nobody from other machines without a password"},
    {"NOPERM", errc::backend_refused, applied::no, nullptr},
    {"WRONGTYPE", errc::backend_refused, applied::no, "the key of that name holds something else"},
    {"CROSSSLOT", errc::bad_name, applied::no, "in a cluster a name has no braces, or one {tag}"},
    {"LOADING", errc::backend_unavailable, applied::no, "the server is still loading its data"},
    {"READONLY", errc::backend_unavailable, applied::no, "the server is a replica"},
    {"MASTERDOWN", errc::backend_unavailable, applied::no, nullptr},
    {"CLUSTERDOWN", errc::backend_unavailable, applied::no, nullptr},
    {"TRYAGAIN", errc::backend_unavailable, applied::no, nullptr},
    {"MOVED", errc::backend_unavailable, applied::no, "the server belongs to a cluster"},
    {"ASK", errc::backend_unavailable, applied::no, "the server belongs to a cluster"},
    {"BUSY", errc::backend_unavailable, applied::no, nullptr},
    {"NOREPLICAS", errc::backend_unavailable, applied::no, nullptr},
    {"MISCONF", errc::backend_unavailable, applied::no, nullptr},
    {"OOM", errc::backend_unavailable, applied::no, "the server's memory is full"},
};

/// Up to version 6 an error inside a script is wrapped: "ERR Error running script (call to f_…):
/// @user_script:3: WRONGTYPE Operation against …".
[[nodiscard]] std::string_view of_the_script(std::string_view error) noexcept {
    constexpr std::string_view mark = "@user_script:";
    if (!error.starts_with("ERR Error running script"))
        return error;
    const auto at = error.find(mark);
    const auto end = error.find(": ", at == error.npos ? at : at + mark.size());
    if (end == error.npos)
        return error;
    auto inside = error.substr(end + 2);
    while (!inside.empty() && (inside.front() == ' ' || inside.front() == '-'))
        inside.remove_prefix(1);
    return inside.empty() ? error : inside;
}

} // namespace

std::string_view first_word(std::string_view error) noexcept {
    return error.substr(0, error.find(' '));
}

failure failure_of(std::string_view error) {
    error = of_the_script(error);
    if (error.starts_with("ERR max number of clients"))
        return {errc::backend_unavailable, applied::no, "the server has too many clients"};
    const auto word = first_word(error);
    for (const auto& one : table)
        if (one.word == word)
            return {one.code,
                    one.effect,
                    one.sentence != nullptr ? std::string{one.sentence}
                                            : std::string{error.substr(0, 300)}};
    return {errc::backend_refused, applied::maybe, std::string{error.substr(0, 300)}};
}

failure not_understood() {
    return {errc::backend_unavailable, applied::maybe, "the server's answer makes no sense"};
}

} // namespace holdfast::redis
