#pragma once

// RESP, the language of Redis, with hiredis as its grammar: commands into bytes, bytes into
// replies. No I/O here. Whatever a server sends is a reply, an error, or a broken stream; never a
// surprise.

#include "backends/redis/names.hpp"

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

struct redisReply;
struct redisReader;

namespace holdfast::redis {

/// A view of one reply or of a part of it. Asked for what it is not, it is empty: 0, "", no parts.
class reply {
public:
    enum class kind : std::uint8_t { nothing, number, text, error, list };

    reply() = default;
    explicit reply(const redisReply* raw) noexcept : raw_{raw} {}

    [[nodiscard]] kind is() const noexcept;
    [[nodiscard]] bool is_error() const noexcept { return is() == kind::error; }
    [[nodiscard]] std::string_view text() const noexcept; ///< of a text or an error
    [[nodiscard]] std::size_t size() const noexcept;
    [[nodiscard]] reply operator[](std::size_t part) const noexcept;

    /// A number, also one written as text; none if it is neither.
    [[nodiscard]] std::optional<std::int64_t> number() const noexcept;

private:
    const redisReply* raw_ = nullptr;
};

/// Bytes in, replies out.
class reply_reader {
public:
    reply_reader();
    ~reply_reader();
    reply_reader(const reply_reader&) = delete;
    reply_reader& operator=(const reply_reader&) = delete;

    /// False once the stream makes no sense any more.
    [[nodiscard]] bool feed(std::string_view bytes);

    enum class found : std::uint8_t { reply, nothing_yet, nonsense };
    /// The next whole reply; valid until the next call.
    [[nodiscard]] found next(reply&);

    void forget(); ///< begins anew, for a new connection

private:
    redisReader* reader_ = nullptr;
    void* last_ = nullptr;
    std::size_t since_last_ = 0; // bytes since the last whole reply
};

/// Appends one command: an array of binary-safe words.
class command {
public:
    command(std::string& out, std::size_t words);
    command& operator<<(std::string_view word);
    command& operator<<(std::int64_t number);
    command& operator<<(const composed&);
    command& as_sent(std::string_view words); ///< made before

private:
    void head(char kind, std::size_t);
    std::string& out_;
};

void append_command(std::string& out, std::initializer_list<std::string_view> words);

} // namespace holdfast::redis
