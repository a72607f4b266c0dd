#include "backends/relational/statement.hpp"

#include <holdfast/sql.hpp>

#include <gtest/gtest.h>

#include <string>

namespace holdfast::sql::test {
namespace {

[[nodiscard]] bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

constexpr dialect both[] = {dialect::postgres, dialect::mysql};

TEST(sql_guard, has_the_name_in_digits_only) {
    EXPECT_TRUE(has(guard(dialect::postgres, "a'\xff/", fence{100}), "'\\x6127ff2f'::bytea"));
    EXPECT_TRUE(has(guard(dialect::mysql, "a'\xff/", fence{100}), "x'6127ff2f'"));
    const std::string hostile[] = {
        "'; DROP TABLE x; --", "\\'", "{lock}", "$1", std::string{"\0?", 2}, "\xf0\x9f\x94\x92"};
    for (const auto how : both)
        for (const auto& name : hostile) {
            const auto text = guard(how, name, fence{100});
            EXPECT_FALSE(has(text, name)) << text;
            // Whatever the name, the rest of the text is the same.
            const auto tame = guard(how, std::string(name.size(), 'a'), fence{100});
            std::size_t different = 0;
            ASSERT_EQ(text.size(), tame.size());
            for (std::size_t i = 0; i < text.size(); ++i)
                different += text[i] != tame[i] ? 1U : 0U;
            EXPECT_LE(different, 2 * name.size());
        }
}

TEST(sql_guard, takes_the_fence_of_a_grant_and_those_that_came_along_with_it) {
    for (const auto how : both)
        EXPECT_TRUE(has(guard(how, "a", fence{5000}),
                        "fence BETWEEN " + std::to_string(5000 - relational::reserved_passes) +
                            " AND 5000"));
}

TEST(sql_guard, looks_into_the_table_that_was_chosen) {
    for (const auto how : both) {
        EXPECT_TRUE(has(guard(how, "a", fence{1}), "FROM holdfast_lock "));
        EXPECT_TRUE(has(guard(how, "a", fence{1}, "ours"), "FROM ours_lock "));
    }
}

TEST(sql_guard, locks_the_row_until_the_transaction_ends) {
    EXPECT_TRUE(has(guard(dialect::postgres, "a", fence{1}), " FOR SHARE"));
    EXPECT_TRUE(has(guard(dialect::mysql, "a", fence{1}), " LOCK IN SHARE MODE"));
}

TEST(sql_fence_column, is_set_by_those_who_are_not_older) {
    const auto words = fenced(fence{77});
    EXPECT_EQ(words.sets, "fence = 77");
    EXPECT_EQ(words.demands, "fence <= 77");
    EXPECT_EQ(fenced(fence{1}, "written_by").demands, "written_by <= 1");
}

} // namespace
} // namespace holdfast::sql::test
