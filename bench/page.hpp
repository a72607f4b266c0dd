#pragma once

// What was found, as text for a terminal, as a page and as a chart. Every figure on the page is
// written by this code; what people think of them stands between two marks and is kept.

#include "rows.hpp"

#include <string>

namespace bench {

/// What only the engine's own benchmark can say of its page.
struct subject {
    std::string engine;    ///< as in ./dev bench ENGINE, and the name of its files
    std::string title;     ///< "the … engine"
    std::string held_to;   ///< Markdown, items of a list: the limit, who else, what is checked
    std::string made_with; ///< versions, in one line
};

/// Where and when it was measured.
struct occasion {
    std::string machine; ///< Markdown, one item a line
    std::string missing; ///< what could not be counted, or empty
};
[[nodiscard]] occasion this_occasion(const subject&, const std::string& load_before);
[[nodiscard]] std::string load_now();
[[nodiscard]] std::string file_system(const std::string& directory);

[[nodiscard]] std::string tables(const findings&);
[[nodiscard]] std::string chart(const findings&);

/// `before`: the page as it was, whose opinions are kept.
[[nodiscard]] std::string
page(const subject&, const findings&, const effort&, const occasion&, const std::string& before);

} // namespace bench
