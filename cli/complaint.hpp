#pragma once

// Everything that goes wrong becomes one sentence on stderr and one exit code; here is how.

#include <exception>
#include <string>
#include <string_view>

namespace holdfast::cli {

struct complaint {
    std::string sentence;
    int exit_code;
};

/// Thrown where an argument makes no sense.
class usage_error : public std::exception {
public:
    explicit usage_error(std::string sentence) : sentence_{std::move(sentence)} {}
    [[nodiscard]] const char* what() const noexcept override { return sentence_.c_str(); }

private:
    std::string sentence_;
};

/// What to say of the exception, and how to end because of it.
[[nodiscard]] complaint complaint_about(const std::exception&);

/// Writes "holdfast: <sentence>" to stderr, in one write, without control characters.
void say(std::string_view sentence) noexcept;

} // namespace holdfast::cli
