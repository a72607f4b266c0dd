#include "backends/redis/notebook.hpp"
#include "claims.hpp"

#include <gtest/gtest.h>

using namespace std::chrono_literals;

namespace holdfast::redis::test {
namespace {

const instant start = instant{} + 1000s;

TEST(redis_notebook, a_note_is_read_as_it_was_written) {
    note n{{"host", 42, "nightly report"}, {{mode::shared, 7, "a/b"}, {mode::permit, 8, "c d"}}};
    const auto back = note_from(text_of(n));
    ASSERT_TRUE(back);
    EXPECT_EQ(back->who.host, "host");
    EXPECT_EQ(back->who.pid, 42);
    EXPECT_EQ(back->who.purpose, "nightly report");
    ASSERT_EQ(back->waits.size(), 2U);
    EXPECT_EQ(back->waits[0].mode, mode::shared);
    EXPECT_EQ(back->waits[0].since_us, 7);
    EXPECT_EQ(back->waits[1].name, "c d");
}

TEST(redis_notebook, nobody_writes_a_line_into_a_note) {
    const auto back = note_from(text_of({{"h\n\t", 1, "p\r\nq\tr"}, {}}));
    ASSERT_TRUE(back);
    EXPECT_EQ(back->who.host, "h  ");
    EXPECT_EQ(back->who.purpose, "p  q r");
    EXPECT_TRUE(back->waits.empty());
}

TEST(redis_notebook, what_is_no_note_is_none) {
    for (const char* const text :
         {"", "\n", "\t1\tx\n", "h\t1\tp\n3\t1\tn\n", "h\t1\tp\n-1\t1\tn\n"})
        EXPECT_FALSE(note_from(text)) << text;
    EXPECT_TRUE(note_from("h")) << "somebody, at least";
    EXPECT_TRUE(note_from("h\tx\ty\n0\tx\n"));
}

TEST(redis_notebook, is_written_when_it_changed_and_before_it_expires) {
    notebook book;
    EXPECT_EQ(book.due(start, true), std::nullopt);
    EXPECT_EQ(book.next(start), never);
    EXPECT_TRUE(book.introduce({"h", 1, "p"}));
    EXPECT_FALSE(book.introduce({"x", 2, "q"}));
    EXPECT_TRUE(book.due(start, false));
    EXPECT_FALSE(book.due(start + 1s, false));
    EXPECT_FALSE(book.due(start + 10s, true));
    EXPECT_TRUE(book.due(start + 20s, true)) << "it lives for a minute";
    EXPECT_FALSE(book.due(start + 100s, false)) << "who holds nothing need not be known";

    book.waits(nonce_of(1), mode::exclusive, "n", 5);
    EXPECT_EQ(book.next(start + 101s), start + 101s);
    const auto text = book.due(start + 101s, false);
    ASSERT_TRUE(text);
    EXPECT_EQ(note_from(*text)->waits.at(0).name, "n");
    book.waits(nonce_of(1), mode::exclusive, "n", 9);
    EXPECT_FALSE(book.due(start + 102s, false)) << "nothing new";
    book.waits_no_more(nonce_of(1));
    EXPECT_FALSE(book.due(start + 101s + 50ms, false)) << "not ten times a second";
    EXPECT_TRUE(note_from(*book.due(start + 103s, false))->waits.empty());
}

TEST(redis_notebook, of_thousands_who_wait_some_are_noted) {
    notebook book;
    ASSERT_TRUE(book.introduce({"h", 1, "p"}));
    for (unsigned i = 0; i < 5000; ++i) {
        nonce n;
        n.bytes[0] = static_cast<unsigned char>(i);
        n.bytes[1] = static_cast<unsigned char>(i >> 8);
        book.waits(n, mode::exclusive, "n", 1);
    }
    EXPECT_LE(book.due(start, false)->size(), 10'000U);
}

} // namespace
} // namespace holdfast::redis::test
