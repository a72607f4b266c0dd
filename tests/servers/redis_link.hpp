#pragma once

// A connection to Redis for tests: one question, one answer, and a bound on every wait.
// Not for measuring, and not what the library itself uses.

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct redisContext;

namespace holdfast::servers {

/// An answer of Redis as it came.
struct reply {
    enum class kind { nil, text, number, list, error };

    kind is = kind::nil;
    std::string text;         ///< of a text, status or error; a number in decimal
    std::int64_t number = 0;  ///< of a number
    std::vector<reply> items; ///< of a list

    [[nodiscard]] bool is_nil() const noexcept { return is == kind::nil; }
    [[nodiscard]] bool is_error() const noexcept { return is == kind::error; }
    [[nodiscard]] bool operator==(const reply&) const = default;
};

/// For messages: `[a, b]`, `(nil)`, `(error) ERR …`.
[[nodiscard]] std::string to_string(const reply&);
std::ostream& operator<<(std::ostream&, const reply&);

using words = std::vector<std::string>;

class redis_link {
public:
    static constexpr auto patience = std::chrono::seconds{30};

    [[nodiscard]] static redis_link over_tcp(std::uint16_t port);
    [[nodiscard]] static redis_link over_unix(const std::string& path);

    /// Throws when no answer comes. An error of the server is an answer.
    reply ask(const words& command);

    void say(const words& command);

    /// The next thing the server says, if it says one within this time: for subscriptions.
    [[nodiscard]] std::optional<reply> hear(std::chrono::milliseconds within = patience);

private:
    struct hang_up {
        void operator()(redisContext*) const noexcept;
    };
    explicit redis_link(redisContext*);

    std::unique_ptr<redisContext, hang_up> context_;
};

} // namespace holdfast::servers
