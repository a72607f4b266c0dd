#include "backends/redis/reply.hpp"

#include <charconv>
#include <cstring>
#include <hiredis/hiredis.h>
#include <new>

namespace holdfast::redis {
namespace {

/// Nothing that we ask for is larger; a hostile server does not fill our memory. What has been read
/// of a reply that is not whole counts, too: its parts take more room than their bytes.
constexpr std::size_t most_bytes = std::size_t{32} << 20;
constexpr int most_parts = 1 << 20;

void* (*make_list)(const redisReadTask*, int) = nullptr;

[[nodiscard]] void* make_bounded_list(const redisReadTask* task, int parts) {
    return parts > most_parts ? nullptr : make_list(task, parts);
}

/// hiredis' reader, which takes a server's word for how much memory a list will need; ours does
/// not.
[[nodiscard]] redisReader* make_reader() {
    auto* const made = redisReaderCreate();
    if (made == nullptr)
        throw std::bad_alloc{};
    static redisReplyObjectFunctions bounded = [&] {
        auto functions = *made->fn;
        make_list = functions.createArray;
        functions.createArray = make_bounded_list;
        return functions;
    }();
    made->fn = &bounded;
    return made;
}

} // namespace

reply::kind reply::is() const noexcept {
    if (raw_ == nullptr)
        return kind::nothing;
    switch (raw_->type) {
    case REDIS_REPLY_INTEGER:
        return kind::number;
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
        return kind::text;
    case REDIS_REPLY_ERROR:
        return kind::error;
    case REDIS_REPLY_ARRAY:
        return kind::list;
    default:
        return kind::nothing;
    }
}

std::string_view reply::text() const noexcept {
    const auto what = is();
    if (what != kind::text && what != kind::error)
        return {};
    return {raw_->str, static_cast<std::size_t>(raw_->len)};
}

std::size_t reply::size() const noexcept { return is() == kind::list ? raw_->elements : 0; }

reply reply::operator[](std::size_t part) const noexcept {
    return part < size() ? reply{raw_->element[part]} : reply{};
}

std::optional<std::int64_t> reply::number() const noexcept {
    if (is() == kind::number)
        return raw_->integer;
    if (is() != kind::text)
        return std::nullopt;
    const auto digits = text();
    std::int64_t value = 0;
    const auto [end, bad] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (bad != std::errc{} || end != digits.data() + digits.size())
        return std::nullopt;
    return value;
}

reply_reader::reply_reader() : reader_{make_reader()} {}

reply_reader::~reply_reader() {
    if (last_ != nullptr)
        freeReplyObject(last_);
    redisReaderFree(reader_);
}

bool reply_reader::feed(std::string_view bytes) {
    since_last_ += bytes.size();
    if (since_last_ > most_bytes)
        return false;
    return redisReaderFeed(reader_, bytes.data(), bytes.size()) == REDIS_OK;
}

reply_reader::found reply_reader::next(reply& out) {
    if (last_ != nullptr)
        freeReplyObject(last_);
    last_ = nullptr;
    if (redisReaderGetReply(reader_, &last_) != REDIS_OK)
        return found::nonsense;
    if (last_ == nullptr)
        return found::nothing_yet;
    since_last_ = reader_->len - reader_->pos;
    out = reply{static_cast<redisReply*>(last_)};
    return found::reply;
}

void reply_reader::forget() {
    auto* const fresh = make_reader();
    if (last_ != nullptr)
        freeReplyObject(last_);
    last_ = nullptr;
    redisReaderFree(reader_);
    reader_ = fresh;
    since_last_ = 0;
}

// Written by hand, because hiredis would allocate each command anew.
command::command(std::string& out, std::size_t words) : out_{out} { head('*', words); }

command& command::as_sent(std::string_view words) {
    out_.append(words);
    return *this;
}

void command::head(char kind, std::size_t count) {
    char text[24] = {kind};
    auto* const end = std::to_chars(text + 1, text + sizeof text - 2, count).ptr;
    std::memcpy(end, "\r\n", 2);
    out_.append(text, static_cast<std::size_t>(end + 2 - text));
}

command& command::operator<<(std::string_view word) {
    head('$', word.size());
    out_.append(word).append("\r\n", 2);
    return *this;
}

command& command::operator<<(const composed& word) {
    head('$', word.size());
    word.append_to(out_);
    out_.append("\r\n", 2);
    return *this;
}

command& command::operator<<(std::int64_t number) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    return *this << std::string_view{digits, static_cast<std::size_t>(end - digits)};
}

void append_command(std::string& out, std::initializer_list<std::string_view> words) {
    command made{out, words.size()};
    for (const auto word : words)
        made << word;
}

} // namespace holdfast::redis
