#include "backends/redis/reply.hpp"
#include "parsed.hpp"

#include <gtest/gtest.h>

using namespace std::string_literals;

namespace holdfast::redis::test {
namespace {

using found = reply_reader::found;

[[nodiscard]] found fate_of(std::string_view bytes) {
    reply_reader reader;
    if (!reader.feed(bytes))
        return found::nonsense;
    reply r;
    return reader.next(r);
}

TEST(redis_reply, is_of_five_kinds) {
    EXPECT_EQ((*parsed{"+OK\r\n"}).text(), "OK");
    EXPECT_EQ((*parsed{"-ERR no\r\n"}).is(), reply::kind::error);
    EXPECT_EQ((*parsed{"-ERR no\r\n"}).text(), "ERR no");
    EXPECT_EQ((*parsed{":-42\r\n"}).number(), -42);
    EXPECT_EQ((*parsed{":9223372036854775807\r\n"}).number(), INT64_MAX);
    EXPECT_EQ((*parsed{std::string_view{"$5\r\na\0\r\nb\r\n", 11}}).text().size(), 5U);
    EXPECT_EQ((*parsed{"$0\r\n\r\n"}).is(), reply::kind::text);
    EXPECT_EQ((*parsed{"$-1\r\n"}).is(), reply::kind::nothing);
    EXPECT_EQ((*parsed{"*-1\r\n"}).is(), reply::kind::nothing);
    EXPECT_EQ((*parsed{"*0\r\n"}).is(), reply::kind::list);
    const parsed list{"*3\r\n:1\r\n$1\r\nx\r\n*1\r\n+y\r\n"};
    EXPECT_EQ((*list).size(), 3U);
    EXPECT_EQ((*list)[2][0].text(), "y");
}

TEST(redis_reply, asked_for_what_it_is_not_is_empty) {
    const parsed number{":7\r\n"};
    EXPECT_EQ((*number).text(), "");
    EXPECT_EQ((*number).size(), 0U);
    EXPECT_EQ((*number)[3][4].is(), reply::kind::nothing);
    EXPECT_EQ(reply{}.number(), std::nullopt);
    EXPECT_EQ((*parsed{"*1\r\n:1\r\n"}).number(), std::nullopt);
    EXPECT_EQ((*parsed{"-7\r\n"}).number(), std::nullopt) << "an error is no number";
}

TEST(redis_reply, text_is_a_number_only_if_all_of_it_is) {
    EXPECT_EQ((*parsed{"$2\r\n12\r\n"}).number(), 12);
    for (const char* const text :
         {"", "x", "1x", " 1", "1 ", "+1", "1e3", "0x1", "99999999999999999999"})
        EXPECT_EQ((*parsed{"+" + std::string{text} + "\r\n"}).number(), std::nullopt) << text;
}

TEST(redis_reply, is_the_same_wherever_the_stream_is_cut) {
    const std::string bytes = "*4\r\n:1\r\n$5\r\nab\r\nc\r\n*2\r\n$-1\r\n-E x\r\n+s\r\n:77\r\n";
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
        reply_reader reader;
        reply one;
        std::vector<std::string> seen;
        for (const auto part :
             {std::string_view{bytes}.substr(0, cut), std::string_view{bytes}.substr(cut)}) {
            ASSERT_TRUE(reader.feed(part));
            for (auto is = reader.next(one); is != found::nothing_yet; is = reader.next(one)) {
                ASSERT_EQ(is, found::reply) << cut;
                seen.push_back(one.size() == 4
                                   ? std::string{one[1].text()} + std::string{one[2][1].text()}
                                   : std::to_string(one.number().value_or(-1)));
            }
        }
        ASSERT_EQ(seen, (std::vector<std::string>{"ab\r\ncE x", "77"})) << cut;
    }
}

TEST(redis_reply, nonsense_is_told_from_what_is_not_whole_yet) {
    for (const char* const bytes :
         {"", "$5\r\nab", "*2\r\n:1\r\n", "+OK", "*1048576\r\n", "$1000000000\r\nx"})
        EXPECT_EQ(fate_of(bytes), found::nothing_yet) << bytes;
    for (const char* const bytes : {"x\r\n",
                                    "HTTP/1.1 200 OK\r\n",
                                    "\x16\x03\x01\x02",
                                    ":1x\r\n",
                                    "$x\r\n",
                                    "$-2\r\n",
                                    "*-2\r\n",
                                    "*1048577\r\n",
                                    "*4294967296\r\n",
                                    "*2147483647\r\n",
                                    ":99999999999999999999\r\n"})
        EXPECT_EQ(fate_of(bytes), found::nonsense) << bytes;
}

TEST(redis_reply, nested_too_deeply_is_nonsense) {
    std::string bytes;
    for (int i = 0; i < 200'000; ++i)
        bytes += "*1\r\n";
    EXPECT_EQ(fate_of(bytes), found::nonsense);
}

// Whole parts are taken in and freed only with the whole: they count, too.
TEST(redis_reply, without_end_is_nonsense) {
    reply_reader reader;
    reply one;
    ASSERT_TRUE(reader.feed("*1048576\r\n"));
    std::string part = "*1048576\r\n";
    while (part.size() < (std::size_t{1} << 20))
        part += "$100\r\n" + std::string(100, 'x') + "\r\n";
    std::size_t fed = 0;
    bool sound = true;
    while (sound && fed < (std::size_t{256} << 20)) {
        sound = reader.feed(part) && reader.next(one) != found::nonsense;
        fed += part.size();
        part.erase(0, part.starts_with('*') ? 10 : 0);
    }
    EXPECT_FALSE(sound);
}

TEST(redis_reply, begins_anew_with_a_new_connection) {
    reply_reader reader;
    reply one;
    ASSERT_TRUE(reader.feed("$10\r\nhalf"));
    EXPECT_EQ(reader.next(one), found::nothing_yet);
    reader.forget();
    ASSERT_TRUE(reader.feed("+OK\r\n"));
    EXPECT_EQ(reader.next(one), found::reply);
    EXPECT_EQ(one.text(), "OK");
}

TEST(redis_command, is_binary_safe) {
    std::string out;
    append_command(out, {"SET", std::string_view{"a\0\r\nb", 5}, ""});
    EXPECT_EQ(out, "*3\r\n$3\r\nSET\r\n$5\r\na\0\r\nb\r\n$0\r\n\r\n"s);
    out.clear();
    command{out, 2} << std::int64_t{-9'223'372'036'854'775'807 - 1} << std::int64_t{0};
    EXPECT_EQ(out, "*2\r\n$20\r\n-9223372036854775808\r\n$1\r\n0\r\n");
}

} // namespace
} // namespace holdfast::redis::test
