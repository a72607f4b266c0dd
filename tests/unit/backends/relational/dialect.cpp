// What is said to a server, as text: the same queries in both dialects, nothing forgotten, and
// nothing in it that somebody else chose.

#include "backends/mysql/dialect.hpp"
#include "backends/postgres/dialect.hpp"

#include <holdfast/postgres.hpp>

#include <gtest/gtest.h>

#include <regex>
#include <string>

namespace holdfast::relational::test {
namespace {

/// How many parameters each has, as statement.hpp tells.
[[nodiscard]] std::size_t given_to(query which) {
    switch (which) {
    case query::parties:
    case query::idle_bonds:
    case query::idle_lines_remove:
    case query::none:
        return 0;
    case query::make_row:
    case query::next_in_line:
    case query::bond_keep:
    case query::bonds_renew:
    case query::bonds_remove:
    case query::rung_for:
    case query::force_release:
    case query::taken_from:
    case query::taken_told:
    case query::idle_locks_remove:
        return 1;
    case query::look:
    case query::calm:
    case query::bond_end:
    case query::bell_hang:
    case query::release_unwanted:
        return 2;
    case query::take:
    case query::retake:
    case query::leave:
    case query::raise_fence:
        return 3;
    case query::release:
        return 4;
    case query::admit:
        return 5;
    case query::take_beside:
        return 7;
    case query::join:
    case query::admit_beside:
    case query::bond_add:
        return 8;
    }
    ADD_FAILURE() << "nobody has said what is given to query " << static_cast<int>(which);
    return 0;
}

[[nodiscard]] std::vector<query> all_queries() {
    std::vector<query> all;
    for (std::size_t i = 0; i < query_count; ++i)
        all.push_back(static_cast<query>(i));
    return all;
}

[[nodiscard]] bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

[[nodiscard]] std::string in_mysql(const statement& what, std::string_view prefix) {
    return mysql::text_of(what, mysql::frame_of(what.what, prefix));
}

void expect_finished(const std::string& text) {
    EXPECT_FALSE(text.empty());
    EXPECT_EQ(text.find_first_of("{}"), std::string::npos) << text;
    EXPECT_FALSE(has(text, "holdfast_")) << "the tables have another name: " << text;
}

TEST(postgres_dialect, has_each_query_with_as_many_parameters_as_it_is_given) {
    for (const auto which : all_queries()) {
        const auto text = postgres::text_of(which, "ours");
        SCOPED_TRACE(static_cast<int>(which));
        expect_finished(text);
        const auto count = given_to(which);
        for (std::size_t i = 1; i <= count; ++i)
            EXPECT_TRUE(has(text, "$" + std::to_string(i))) << i << " is not in " << text;
        EXPECT_FALSE(has(text, "$" + std::to_string(count + 1))) << text;
    }
}

/// One that stands nowhere else.
[[nodiscard]] std::int64_t mark(std::size_t i) { return 9'100'000'001 + static_cast<int>(i); }

TEST(mysql_dialect, has_each_query_with_all_that_it_is_given_written_into_it) {
    for (const auto which : all_queries()) {
        SCOPED_TRACE(static_cast<int>(which));
        statement s{.what = which};
        for (std::size_t i = 0; i < given_to(which); ++i)
            s.with.emplace_back(mark(i));
        const auto text = in_mysql(s, "ours");
        expect_finished(text);
        EXPECT_FALSE(has(text, "$")) << text;
        for (std::size_t i = 0; i < given_to(which); ++i)
            EXPECT_TRUE(has(text, std::to_string(mark(i)))) << i + 1 << " is not in " << text;
    }
}

TEST(mysql_dialect, says_any_other_text_as_it_is) {
    EXPECT_EQ(in_mysql({.text = "SELECT $1, {lock}"}, "ours"), "SELECT $1, {lock}");
}

TEST(mysql_dialect, writes_what_others_chose_in_digits) {
    const std::string hostile[] = {"'; DROP TABLE ours_lock; -- ",
                                   "\\'",
                                   "$1$2$3",
                                   "{lock}",
                                   std::string{"\0'\x1a\xff\xbf\x5c'", 7},
                                   "\xf0\x9f\x94\x92",
                                   std::string(1024, '"')};
    const std::regex digits{"x'[0-9a-f]*'"};
    const auto frame_of = [&](const std::string& name, const std::string& nonce) {
        const auto text =
            in_mysql({.what = query::take, .with = {name, octets{nonce}, std::int64_t{5}}}, "ours");
        return std::regex_replace(text, digits, "?");
    };
    const auto tame = frame_of("a", "b");
    EXPECT_TRUE(has(tame, "VALUES (?, LAST_INSERT_ID(")) << tame;
    for (const auto& one : hostile) {
        EXPECT_EQ(frame_of(one, "b"), tame);
        EXPECT_EQ(frame_of("a", one), tame);
    }
    EXPECT_TRUE(has(in_mysql({.what = query::make_row, .with = {std::string{"a'\xff"}}}, "t"),
                    "(x'6127ff', "));
}

TEST(mysql_dialect, writes_numbers_lists_and_nothing) {
    EXPECT_TRUE(has(in_mysql({.what = query::bonds_remove, .with = {one_of{{1, -2, 3}}}}, "t"),
                    "IN (1,-2,3)"));
    EXPECT_TRUE(has(in_mysql({.what = query::bonds_remove, .with = {one_of{}}}, "t"), "IN (NULL)"));
    EXPECT_TRUE(
        has(in_mysql({.what = query::taken_told, .with = {octets{}}}, "t"), "nonce = NULL"));
}

TEST(mysql_dialect, removes_a_bond_with_a_release_only_if_there_is_one) {
    const auto with_bond = [](std::int64_t bond) {
        return in_mysql({.what = query::release,
                         .with = {std::string{"a"}, octets{"n"}, bond, std::int64_t{0}}},
                        "t");
    };
    EXPECT_FALSE(has(with_bond(0), "t_bond"));
    EXPECT_TRUE(has(with_bond(77), "DELETE FROM t_bond WHERE id = 77"));
}

TEST(mysql_dialect, reads_answers_without_rows_from_two_numbers) {
    EXPECT_TRUE(mysql::answer_without_rows(query::take, 0, 5).empty());
    for (const auto taking : {query::take, query::retake}) {
        const auto took = mysql::answer_without_rows(taking, 2, 1234);
        ASSERT_EQ(took.rows(), 1U);
        EXPECT_EQ(took.number(0, 0), 1234);
        EXPECT_EQ(took.number(0, 1), 0);
    }
    for (const auto releasing : {query::release, query::release_unwanted}) {
        const auto released = mysql::answer_without_rows(releasing, 1, 3);
        ASSERT_EQ(released.rows(), 1U);
        EXPECT_EQ(released.number(0, 1), 3) << "who waits";
        EXPECT_EQ(released.number(0, 2), -1) << "whom to wake was not asked";
    }
    EXPECT_EQ(mysql::answer_without_rows(query::calm, 1, 0).rows(), 1U);
}

TEST(postgres_dialect, makes_tables_of_the_name_that_was_chosen) {
    const auto text = postgres::schema("ours");
    expect_finished(text);
    for (const char* const each : {"lock", "line", "bond", "meta"})
        EXPECT_TRUE(has(text, std::string{"CREATE TABLE IF NOT EXISTS ours_"} + each));
    EXPECT_TRUE(has(text, "COLLATE \"C\"")) << "names differ if their bytes do";
}

TEST(mysql_dialect, makes_tables_of_the_name_that_was_chosen) {
    const auto text = mysql::schema("ours");
    expect_finished(text);
    for (const char* const each : {"lock", "line", "bond", "meta"})
        EXPECT_TRUE(has(text, std::string{"CREATE TABLE IF NOT EXISTS ours_"} + each));
    EXPECT_TRUE(has(text, "VARBINARY(1024)")) << "names differ if their bytes do";
    EXPECT_TRUE(has(text, "InnoDB")) << "MyISAM would roll nothing back";
}

TEST(postgres_dialect, has_a_channel_for_each_client) {
    EXPECT_EQ(postgres::channel("ours", 42), "ours_client42");
    EXPECT_TRUE(has(postgres::text_of(query::release, "ours"), "'ours_client' ||"))
        << "the one that is woken through";
}

TEST(postgres_dialect, gives_the_user_of_the_url_all_tables_that_it_makes) {
    sql::options how;
    how.database = "d";
    EXPECT_FALSE(has(holdfast::postgres::schema(how), "GRANT"));
    how.user = "an\"n";
    how.table = "ours";
    const auto text = holdfast::postgres::schema(how);
    const auto grant = text.substr(text.find("GRANT"));
    EXPECT_TRUE(has(grant, " TO \"an\"\"n\";")) << grant;
    const std::regex made{"CREATE TABLE IF NOT EXISTS (ours_[a-z]+)"};
    auto each = std::sregex_iterator{text.begin(), text.end(), made};
    EXPECT_NE(each, std::sregex_iterator{});
    for (; each != std::sregex_iterator{}; ++each)
        EXPECT_TRUE(std::regex_search(grant, std::regex{"\\b" + each->str(1) + "\\b"}))
            << each->str(1);
}

// ------------------------------------------------------------- where the server keeps others out

constexpr front_query all_front_queries[] = {front_query::try_session,
                                             front_query::end_session,
                                             front_query::make_row,
                                             front_query::try_row};

TEST(front_of_names, has_the_same_number_in_each_process_and_version) {
    EXPECT_EQ(number_of_name("holdfast", "orders/42"), 13014745880040115448U);
    EXPECT_NE(number_of_name("holdfast", "a"), number_of_name("holdfast", "b"));
    EXPECT_NE(number_of_name("holdfast", "a"), number_of_name("others", "a"));
    EXPECT_NE(number_of_name("ab", "c"), number_of_name("a", "bc"));
}

TEST(front_of_names, has_names_as_numbers_or_in_digits_only) {
    const std::regex digits{"[0-9A-Fa-f]{6,}|-?[0-9]{6,}"};
    for (const auto which : all_front_queries)
        for (const std::string name : {"'; DROP TABLE x; --", "{lock}$1{lock}", "\\\\\\\\'"}) {
            const std::string tame(name.size(), 'a');
            const auto frame = [&](const std::string& text) {
                expect_finished(std::regex_replace(text, std::regex{"'holdfast_"}, "'"));
                return std::regex_replace(text, digits, "?");
            };
            for (const auto how : {mode::exclusive, mode::shared})
                EXPECT_EQ(frame(postgres::front_text(which, "ours", name, how)),
                          frame(postgres::front_text(which, "ours", tame, how)));
            EXPECT_EQ(frame(mysql::front_text(which, "ours", name)),
                      frame(mysql::front_text(which, "ours", tame)));
        }
}

TEST(front_of_names, is_given_back_as_it_was_taken) {
    const auto number_in = [](const std::string& text) {
        std::smatch found;
        return std::regex_search(text, found, std::regex{"-?[0-9]{6,}"}) ? found.str() : text;
    };
    for (const auto how : {mode::exclusive, mode::shared}) {
        const auto taken = postgres::front_text(front_query::try_session, "t", "a", how);
        const auto ended = postgres::front_text(front_query::end_session, "t", "a", how);
        EXPECT_EQ(number_in(taken), number_in(ended));
        EXPECT_EQ(has(taken, "_shared"), how == mode::shared);
        EXPECT_EQ(has(ended, "_shared"), how == mode::shared);
    }
    EXPECT_EQ(number_in(mysql::front_text(front_query::try_session, "t", "a")),
              number_in(mysql::front_text(front_query::end_session, "t", "a")));
}

} // namespace
} // namespace holdfast::relational::test
