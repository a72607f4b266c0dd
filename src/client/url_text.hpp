#pragma once

// The words that the URLs of all engines over a network have in common.
//
//   scheme://[user[:password]@]host[:port][,host[:port]…][/path][?option=value&…]
//
// What makes no sense throws errc::bad_option with one sentence that names the engine; what may be
// a password never stands in it.

#include <holdfast/clock.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::detail {

class url_text {
public:
    explicit constexpr url_text(const char* engine) : engine_{engine} {}

    [[noreturn]] void refuse(const std::string& sentence) const;

    /// %41 is A.
    [[nodiscard]] std::string decoded(std::string_view, const char* what) const;

    [[nodiscard]] std::pair<std::string, int> address(std::string_view, int usual_port) const;
    [[nodiscard]] std::vector<std::pair<std::string, int>> addresses(std::string_view,
                                                                     int usual_port) const;
    [[nodiscard]] duration time(std::string_view name, std::string_view) const;
    [[nodiscard]] std::int64_t
    count(std::string_view name, std::string_view, std::int64_t least, std::int64_t most) const;
    [[nodiscard]] bool yes_or_no(std::string_view name, std::string_view) const;

    /// What a file says, without the end of its line.
    [[nodiscard]] std::string secret(const std::string& path) const;

    /// The user, and the password if there is one.
    [[nodiscard]] std::pair<std::string, std::string> user(std::string_view) const;

    /// Cuts ?option=value&… off, and gives each of them.
    void options(std::string_view& rest,
                 const std::function<void(std::string_view name, const std::string& value)>&) const;

    [[noreturn]] void no_such_option(std::string_view name, const char* there_are) const;

private:
    const char* const engine_;
};

} // namespace holdfast::detail
