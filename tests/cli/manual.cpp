// The manual, and what is made of it: it says what the program understands, no less and no more.

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

/// "run -n", "run --nonblock", …
words described_in(const manual::verb& page) {
    words all;
    const auto add = [&](std::string_view word) {
        all.insert(std::string{page.name} + " " + std::string{word});
    };
    for (const auto& option : manual::options_of(page)) {
        std::for_each(option.names.begin(), option.names.end(), add);
        std::for_each(option.also.begin(), option.also.end(), add);
    }
    for (const auto& argument : page.arguments) {
        if (argument.offer != manual::offer::command) { // which CLI11 never sees
            add(argument.name);
        }
    }
    return all;
}

class manual_truth : public workshop {};

TEST_F(manual_truth, it_describes_every_word_that_is_understood_and_no_other) {
    words described;
    for (const auto& page : manual::verbs()) {
        described.merge(described_in(page));
    }
    words understood;
    std::istringstream lines{holdfast({"words-understood"}).out};
    for (std::string line; std::getline(lines, line);) {
        understood.insert(line);
    }
    EXPECT_EQ(described, understood) << "a verb that is there now is not `elsewhere` any more";
}

TEST_F(manual_truth, words_that_are_offered_are_understood) {
    const auto expect_all = [](std::vector<std::string> arguments, const manual::value& value) {
        ASSERT_FALSE(value.words.empty());
        for (const auto& word : value.words) {
            auto all = arguments;
            std::replace(all.begin(), all.end(), std::string{"?"}, std::string{word});
            EXPECT_EQ(holdfast(all).code, 0) << word;
        }
    };
    const auto value_of = [](std::string_view verb, std::string_view name) {
        for (const auto& option : manual::options_of(manual::page_of(verb))) {
            if (option.names.back() == name) {
                return option.value;
            }
        }
        return manual::value{};
    };
    expect_all({"run", "--on-lost", "?", "a", "true"}, value_of("run", "--on-lost"));
    expect_all({"top", "--sort", "?"}, value_of("top", "--sort"));
    expect_all({"completion", "?"}, manual::page_of("completion").arguments.front());
}

TEST_F(manual_truth, urls_that_are_named_are_understood) {
    ASSERT_FALSE(manual::urls().empty());
    for (const auto& url : manual::urls()) {
        EXPECT_TRUE(url.form.starts_with(url.beginning)) << url.form;
        EXPECT_THAT(holdfast({"--help"}).out, HasSubstr(std::string{url.form}));
        EXPECT_THAT(holdfast({"man"}).out, HasSubstr(std::string{url.beginning}));
        if (url.beginning != "sqlite:") { // which takes it for the name of a file
            const auto how = holdfast({"ls", "-u", std::string{url.beginning} + "?nonsense"});
            EXPECT_EQ(how.code, 64) << url.beginning;
            EXPECT_THAT(how.err, testing::Not(HasSubstr("scheme"))) << url.beginning;
            EXPECT_THAT(how.err, testing::Not(HasSubstr("linked"))) << url.beginning;
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

class roff_page : public workshop {
protected:
    void SetUp() override { write("holdfast.1", cli::man_page()); }

    [[nodiscard]] outcome read_by(const std::string& reader) const {
        return call({"sh", "-c", reader + " \"$0\"", path("holdfast.1")});
    }
    [[nodiscard]] static bool is_missing(const std::string& tool) {
        return call({"sh", "-c", "command -v \"$0\" > /dev/null", tool}).code != 0;
    }
};

TEST_F(roff_page, is_read_by_groff_without_a_warning) {
    if (is_missing("groff")) {
        GTEST_SKIP() << "there is no groff here";
    }
    const auto how = read_by("groff -man -Tutf8 -ww");
    EXPECT_EQ(how.code, 0);
    EXPECT_EQ(how.err, "");
    EXPECT_THAT(how.out, HasSubstr("holdfast run"));
}

TEST_F(roff_page, is_read_by_mandoc_without_a_warning) {
    if (is_missing("mandoc")) {
        GTEST_SKIP() << "there is no mandoc here";
    }
    const auto how = read_by("mandoc -T lint");
    EXPECT_EQ(how.code, 0) << how.out << how.err;
}

TEST_F(roff_page, is_what_man_prints) {
    const auto how = holdfast({"man"});
    EXPECT_EQ(how.code, 0);
    EXPECT_EQ(how.out, read("holdfast.1"));
}

} // namespace
} // namespace holdfast::cli_tests
