#pragma once

#include "backends/redis/reply.hpp"

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::redis::test {

/// One reply from its bytes, alive as long as this.
class parsed {
public:
    explicit parsed(std::string_view bytes) {
        if (!reader_.feed(bytes) || reader_.next(reply_) != reply_reader::found::reply)
            throw std::runtime_error{"not a reply: " + std::string{bytes}};
    }
    [[nodiscard]] const reply& operator*() const noexcept { return reply_; }

private:
    reply_reader reader_;
    reply reply_;
};

/// The commands in these bytes, as words.
[[nodiscard]] inline std::vector<std::vector<std::string>> commands_in(std::string_view bytes) {
    reply_reader reader;
    std::vector<std::vector<std::string>> all;
    if (!reader.feed(bytes))
        return all;
    reply one;
    while (reader.next(one) == reply_reader::found::reply) {
        auto& words = all.emplace_back();
        for (std::size_t i = 0; i < one.size(); ++i)
            words.emplace_back(one[i].text());
    }
    return all;
}

} // namespace holdfast::redis::test
