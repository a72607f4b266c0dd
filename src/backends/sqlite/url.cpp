// sqlite:PATH as open(url) sees it.

#include "backends/sqlite/file.hpp"
#include "client/engine_entry.hpp"

#include <holdfast/sqlite.hpp>

namespace holdfast::sqlite {
namespace {

[[nodiscard]] options options_of(const detail::engine_url& url) {
    auto rest = url.rest;
    if (const auto mark = rest.find('?'); mark != std::string_view::npos) {
        const auto asked = rest.substr(mark + 1);
        if (!asked.empty())
            throw_error(errc::bad_option,
                        "sqlite: has no options, but the URL asks for '" +
                            std::string{asked.substr(0, asked.find_first_of("=&"))} + "'");
        rest = rest.substr(0, mark);
    }
    if (rest.starts_with("//")) {
        rest.remove_prefix(2);
        if (!rest.starts_with('/'))
            throw_error(errc::bad_option,
                        "sqlite: reaches no other host; write sqlite:" + std::string{rest} +
                            " or sqlite:///absolute/path");
    }
    if (rest.find('\0') != std::string_view::npos)
        throw_error(errc::bad_option, "sqlite: a path contains no NUL");
    return {.path = rest.empty() ? default_path() : std::string{rest},
            .children_keep_locks = url.children_keep_locks};
}

std::unique_ptr<backend> open_url(const detail::engine_url& url) { return make(options_of(url)); }

} // namespace
} // namespace holdfast::sqlite

extern "C" {
extern const holdfast::detail::engine_entry holdfast_engine_sqlite;
const holdfast::detail::engine_entry holdfast_engine_sqlite = &holdfast::sqlite::open_url;
}
