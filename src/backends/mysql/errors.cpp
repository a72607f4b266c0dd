#include "backends/mysql/errors.hpp"

namespace holdfast::mysql {
namespace {

using relational::trouble;
using kind = trouble::kind;

struct meaning {
    unsigned number;
    kind what;
    errc code;
    applied effect;
    const char* sentence; // null: the server's own words
};

// MariaDB says the same if it wants TLS, and nothing of it.
constexpr const char* refused_user = "the server refused user or password, or wants TLS";
// The library's words have a number, which is often that of another error.
constexpr const char* nobody_there = "nobody takes connections there";

// A statement that the server answers with an error was rolled back; one that it did not answer
// may have been carried out.
constexpr meaning meanings[] = {
    {1205, kind::blocked, errc::backend_unavailable, applied::no, nullptr},
    {1213, kind::again, errc::backend_unavailable, applied::no, nullptr},
    {3572, kind::blocked, errc::backend_unavailable, applied::no, nullptr},
    {1317, kind::blocked, errc::backend_unavailable, applied::no, nullptr}, // interrupted
    {1969, kind::blocked, errc::backend_unavailable, applied::no, nullptr}, // it took too long
    {1290,
     kind::elsewhere,
     errc::backend_unavailable,
     applied::no,
     "this server is a replica, or does not write for another reason"},
    {1792,
     kind::elsewhere,
     errc::backend_unavailable,
     applied::no,
     "this server is a replica, or does not write for another reason"},
    {1836,
     kind::elsewhere,
     errc::backend_unavailable,
     applied::no,
     "this server is a replica, or does not write for another reason"},
    {1045, kind::plain, errc::backend_refused, applied::no, refused_user},
    {1698, kind::plain, errc::backend_refused, applied::no, refused_user},
    {2002, kind::unusable, errc::backend_unavailable, applied::no, nobody_there},
    {2003, kind::unusable, errc::backend_unavailable, applied::no, nobody_there},
    {1044, kind::plain, errc::backend_refused, applied::no, nullptr},
    {1049, kind::plain, errc::backend_refused, applied::no, nullptr},
    {1142, kind::plain, errc::backend_refused, applied::no, nullptr},
    {1143, kind::plain, errc::backend_refused, applied::no, nullptr},
    {1227, kind::plain, errc::backend_refused, applied::no, nullptr},
    {1130, kind::plain, errc::backend_refused, applied::no, nullptr},        // not from this host
    {1146, kind::unusable, errc::backend_unavailable, applied::no, nullptr}, // the tables are gone
    {1040, kind::plain, errc::backend_unavailable, applied::no, nullptr},
    {1203, kind::plain, errc::backend_unavailable, applied::no, nullptr},
    {1021, kind::plain, errc::backend_unavailable, applied::no, nullptr},
    {1114, kind::plain, errc::backend_unavailable, applied::no, nullptr},
    {1053, kind::unusable, errc::backend_unavailable, applied::maybe, nullptr},
    {1927, kind::unusable, errc::backend_unavailable, applied::maybe, nullptr}, // killed
};

} // namespace

// Numbers from 2000 on are the library's: no answer was read.
trouble trouble_of(unsigned number, std::string_view words) {
    const std::string said{words.substr(0, 300)};
    for (const auto& one : meanings)
        if (number == one.number)
            return {one.what,
                    {make_error_code(one.code),
                     one.effect,
                     one.sentence != nullptr ? one.sentence : said}};
    // TLS: what time will not change. The rest is a connection that was cut.
    if (number == 2026 &&
        (said.find("ertificate") != said.npos || said.find("required") != said.npos))
        return {kind::plain, {make_error_code(errc::backend_refused), applied::no, said}};
    if (number >= 2000 && number < 3000)
        return {kind::unusable, {make_error_code(errc::backend_unavailable), applied::maybe, said}};
    return {kind::plain, {make_error_code(errc::backend_refused), applied::no, said}};
}

} // namespace holdfast::mysql
