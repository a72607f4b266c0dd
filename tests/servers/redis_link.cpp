#include "servers/redis_link.hpp"

#include <holdfast/clock.hpp>

#include <hiredis/hiredis.h>
#include <ostream>
#include <poll.h>
#include <stdexcept>
#include <sys/time.h>

namespace holdfast::servers {
namespace {

constexpr timeval patience_of_hiredis{.tv_sec = redis_link::patience.count(), .tv_usec = 0};

reply converted(const redisReply& raw) {
    reply made;
    switch (raw.type) {
    case REDIS_REPLY_NIL:
        break;
    case REDIS_REPLY_INTEGER:
        made.is = reply::kind::number;
        made.number = raw.integer;
        made.text = std::to_string(raw.integer);
        break;
    case REDIS_REPLY_ARRAY:
        made.is = reply::kind::list;
        for (std::size_t i = 0; i < raw.elements; ++i)
            made.items.push_back(converted(*raw.element[i]));
        break;
    default:
        made.is = raw.type == REDIS_REPLY_ERROR ? reply::kind::error : reply::kind::text;
        made.text.assign(raw.str, raw.len);
    }
    return made;
}

struct free_reply {
    void operator()(redisReply* raw) const noexcept { ::freeReplyObject(raw); }
};

std::optional<reply> already_read(redisContext& context) {
    void* raw = nullptr;
    if (::redisGetReplyFromReader(&context, &raw) != REDIS_OK)
        throw std::runtime_error{std::string{"Redis: "} + context.errstr};
    if (raw == nullptr)
        return std::nullopt;
    const std::unique_ptr<redisReply, free_reply> owned{static_cast<redisReply*>(raw)};
    return converted(*owned);
}

} // namespace

std::string to_string(const reply& what) {
    switch (what.is) {
    case reply::kind::nil:
        return "(nil)";
    case reply::kind::error:
        return "(error) " + what.text;
    case reply::kind::list: {
        std::string all;
        for (const auto& item : what.items)
            all += (all.empty() ? "" : ", ") + to_string(item);
        return '[' + all + ']';
    }
    default:
        return what.text;
    }
}

std::ostream& operator<<(std::ostream& to, const reply& what) { return to << to_string(what); }

redis_link::redis_link(redisContext* context) : context_{context} {
    if (context == nullptr || context->err != 0)
        throw std::runtime_error{std::string{"no connection to Redis: "} +
                                 (context != nullptr ? context->errstr : "no memory")};
    ::redisSetTimeout(context, patience_of_hiredis);
}

void redis_link::hang_up::operator()(redisContext* context) const noexcept { ::redisFree(context); }

redis_link redis_link::over_tcp(std::uint16_t port) {
    return redis_link{::redisConnectWithTimeout("127.0.0.1", port, patience_of_hiredis)};
}

redis_link redis_link::over_unix(const std::string& path) {
    return redis_link{::redisConnectUnixWithTimeout(path.c_str(), patience_of_hiredis)};
}

void redis_link::say(const words& command) {
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    for (const auto& word : command) {
        texts.push_back(word.data());
        sizes.push_back(word.size());
    }
    ::redisAppendCommandArgv(
        context_.get(), static_cast<int>(command.size()), texts.data(), sizes.data());
    for (int sent = 0; sent == 0;)
        if (::redisBufferWrite(context_.get(), &sent) != REDIS_OK)
            throw std::runtime_error{std::string{"Redis: "} + context_->errstr};
}

std::optional<reply> redis_link::hear(std::chrono::milliseconds within) {
    const auto give_up_at = boot_clock::now() + within;
    for (;;) {
        if (auto got = already_read(*context_))
            return got;
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(give_up_at - boot_clock::now());
        pollfd event{.fd = context_->fd, .events = POLLIN, .revents = 0};
        if (left.count() <= 0 || ::poll(&event, 1, static_cast<int>(left.count())) <= 0)
            return std::nullopt;
        if (::redisBufferRead(context_.get()) != REDIS_OK)
            throw std::runtime_error{std::string{"Redis: "} + context_->errstr};
    }
}

reply redis_link::ask(const words& command) {
    say(command);
    if (auto answer = hear())
        return *std::move(answer);
    throw std::runtime_error{"Redis did not answer " + command.front()};
}

} // namespace holdfast::servers
