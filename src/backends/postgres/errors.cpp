#include "backends/postgres/errors.hpp"

#include <algorithm>

namespace holdfast::postgres {
namespace {

using relational::trouble;
using kind = trouble::kind;

struct meaning {
    std::string_view state; // or the beginning of it
    kind what;
    errc code;
    applied effect;
    const char* sentence; // null: the server's own words
};

// A statement that the server answers with an error was rolled back; one that it did not answer
// may have been carried out.
constexpr meaning meanings[] = {
    {"55P03", kind::blocked, errc::backend_unavailable, applied::no, nullptr},
    {"40P01", kind::again, errc::backend_unavailable, applied::no, nullptr},
    {"40001", kind::again, errc::backend_unavailable, applied::no, nullptr},
    {"57014", kind::blocked, errc::backend_unavailable, applied::no, nullptr},
    {"57P", kind::unusable, errc::backend_unavailable, applied::maybe, nullptr},
    {"08", kind::unusable, errc::backend_unavailable, applied::maybe, nullptr},
    {"25006",
     kind::elsewhere,
     errc::backend_unavailable,
     applied::no,
     "this server is a replica, or does not write for another reason"},
    {"26000",
     kind::unusable,
     errc::backend_unavailable,
     applied::no,
     "a connection pooler lies between us and the server"},
    {"28P01",
     kind::plain,
     errc::backend_refused,
     applied::no,
     "the server refused user or password"},
    {"28", kind::plain, errc::backend_refused, applied::no, nullptr},
    {"3D000", kind::plain, errc::backend_refused, applied::no, nullptr},
    {"42501", kind::plain, errc::backend_refused, applied::no, nullptr},
    {"42P01", kind::no_tables, errc::backend_refused, applied::no, nullptr},
    {"53", kind::plain, errc::backend_unavailable, applied::no, nullptr},
    {"58", kind::plain, errc::backend_unavailable, applied::no, nullptr},
};

/// One line, without the frame that the library puts around it.
[[nodiscard]] std::string plain_words(std::string_view words) {
    constexpr std::string_view failed = " failed: ";
    if (const auto at = words.find(failed);
        words.starts_with("connection to server") && at != words.npos)
        words.remove_prefix(at + failed.size());
    for (const std::string_view frame : {"FATAL:", "ERROR:", "PANIC:"})
        if (const auto at = words.find(frame); at != words.npos) {
            words.remove_prefix(at + frame.size());
            break;
        }
    words.remove_prefix(std::min(words.find_first_not_of(" \n"), words.size()));
    std::string line{words.substr(0, words.find('\n')).substr(0, 300)};
    while (!line.empty() && line.back() == ' ')
        line.pop_back();
    return line;
}

/// TLS that cannot be had or trusted. Other words about it are of a connection that was cut.
[[nodiscard]] bool will_not_change(std::string_view words) {
    return words.find("ertificate") != words.npos || words.find("SSL was required") != words.npos;
}

} // namespace

trouble trouble_of(std::string_view state, std::string_view words) {
    for (const auto& one : meanings)
        if (state.starts_with(one.state))
            return {one.what,
                    {make_error_code(one.code),
                     one.effect,
                     one.sentence != nullptr ? one.sentence : plain_words(words)}};
    if (state.empty())
        return {kind::unusable,
                {make_error_code(errc::backend_unavailable), applied::maybe, plain_words(words)}};
    return {kind::plain, {make_error_code(errc::backend_refused), applied::no, plain_words(words)}};
}

trouble no_connection(std::string_view words) {
    auto said = plain_words(words);
    std::string_view state;
    if (said.size() > 6 && said[5] == ':' &&
        said.substr(0, 5).find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") ==
            std::string::npos)
        state = std::string_view{said}.substr(0, 5);
    auto meant = trouble_of(state, state.empty() ? said : said.substr(7));
    if (words.find("no password supplied") != words.npos)
        meant.why = {
            make_error_code(errc::backend_refused), applied::no, "the server wants a password"};
    else if (words.find("expected authentication request") != words.npos)
        meant.why.detail = "somebody answers who is no PostgreSQL server";
    else if (state.empty() && will_not_change(said))
        meant = {kind::plain, {make_error_code(errc::backend_refused), applied::no, said}};
    meant.why.applied = applied::no;
    return meant;
}

} // namespace holdfast::postgres
