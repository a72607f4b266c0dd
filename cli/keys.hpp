#pragma once

// Keys, as a terminal sends them.

#include <string>
#include <vector>

namespace holdfast::cli {

struct key {
    enum class kind { text, enter, backspace, escape, up, down, page_up, page_down, home, end };
    kind what = kind::text;
    std::string text{}; ///< one character, for kind::text

    friend bool operator==(const key&, const key&) = default;
};

/// An escape alone may be the beginning of an arrow.
enum class more_input { may_follow, does_not_follow };

/// Takes whole keys from the front of what was read; what may still become one is left there.
[[nodiscard]] std::vector<key> take_keys(std::string& typed, more_input);

} // namespace holdfast::cli
