// The manual, and what is made of it: it says what the program understands, no less and no more.

#include "cli/arguments.hpp"
#include "cli/help.hpp"
#include "cli/man_page.hpp"
#include "cli/manual.hpp"
#include "cli/text.hpp"
#include "workshop.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>

namespace holdfast::cli_tests {
namespace {

namespace manual = cli::manual;
using testing::HasSubstr;
using words = std::multiset<std::string>;

words described_in(const manual::verb& page) {
    words all;
    for (const auto& option : manual::options_of(page)) {
        all.insert(option.names.begin(), option.names.end());
        all.insert(option.also.begin(), option.also.end());
    }
    for (const auto& argument : page.arguments) {
        if (argument.offer != manual::offer::command) { // which CLI11 never sees
            all.emplace(argument.name);
        }
    }
    return all;
}

TEST(manual_pages, describe_the_verbs_that_there_are) {
    words described;
    for (const auto& page : manual::verbs()) {
        described.emplace(page.name);
    }
    const auto understood = cli::verbs_understood();
    EXPECT_EQ(described, words(understood.begin(), understood.end()))
        << "a verb that is there now is not `elsewhere` any more";
}

TEST(manual_pages, describe_every_option_and_no_other) {
    for (const auto& page : manual::verbs()) {
        const auto understood = cli::words_understood(std::string{page.name});
        EXPECT_EQ(described_in(page), words(understood.begin(), understood.end())) << page.name;
    }
}

TEST(manual_pages, offer_only_words_that_are_understood) {
    for (const auto& act : {"term", "kill", "ignore"}) {
        EXPECT_NO_THROW((void)cli::parse({"run", "--on-lost", act, "a", "true"}));
    }
    for (const auto& value : manual::page_of("completion").arguments.front().words) {
        EXPECT_NO_THROW((void)cli::parse({"completion", std::string{value}}));
    }
    for (const auto& option : manual::options_of(manual::page_of("top"))) {
        for (const auto& word : option.value.words) {
            EXPECT_NO_THROW((void)cli::parse({"top", "--sort", std::string{word}}));
        }
    }
}

TEST(manual_pages, fit_into_90_columns_and_end_with_an_example) {
    auto pages = std::vector{cli::general_help()};
    for (const auto& page : manual::all_verbs()) {
        pages.push_back(cli::help_of(page));
        EXPECT_FALSE(page.examples.empty()) << page.name;
    }
    for (const auto& page : pages) {
        EXPECT_THAT(page, HasSubstr("\nUsage: holdfast "));
        EXPECT_THAT(page, HasSubstr("\nExample"));
        std::istringstream lines{page};
        for (std::string line; std::getline(lines, line);) {
            EXPECT_LE(cli::columns_of(line), 90U) << line;
            EXPECT_FALSE(line.ends_with(' ')) << line;
        }
    }
}

class man : public workshop {
protected:
    void SetUp() override { write("holdfast.1", cli::man_page()); }

    [[nodiscard]] outcome read_by(const std::string& reader) const {
        return call({"sh", "-c", reader + " \"$0\"", path("holdfast.1")});
    }
    [[nodiscard]] static bool is_missing(const std::string& tool) {
        return call({"sh", "-c", "command -v \"$0\" > /dev/null", tool}).code != 0;
    }
};

TEST_F(man, prints_what_groff_reads_without_a_warning) {
    if (is_missing("groff")) {
        GTEST_SKIP() << "there is no groff here";
    }
    const auto how = read_by("groff -man -Tutf8 -ww");
    EXPECT_EQ(how.code, 0);
    EXPECT_EQ(how.err, "");
    EXPECT_THAT(how.out, HasSubstr("holdfast run"));
}

TEST_F(man, prints_what_mandoc_reads_without_a_warning) {
    if (is_missing("mandoc")) {
        GTEST_SKIP() << "there is no mandoc here";
    }
    const auto how = read_by("mandoc -T lint");
    EXPECT_EQ(how.code, 0) << how.out << how.err;
}

TEST_F(man, is_a_verb) {
    const auto how = holdfast({"man"});
    EXPECT_EQ(how.code, 0);
    EXPECT_EQ(how.out, read("holdfast.1"));
}

} // namespace
} // namespace holdfast::cli_tests
