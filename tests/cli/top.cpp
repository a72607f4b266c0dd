// `holdfast top`: its keys and its table, and the whole of it on a real terminal.

#include "cli/keys.hpp"
#include "cli/text.hpp"
#include "cli/top_table.hpp"
#include "tmux.hpp"
#include "workshop.hpp"

#include <gmock/gmock.h>

#include <csignal>
#include <string>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<key> keys_in(std::string typed) {
    return take_keys(typed, more_input::does_not_follow);
}

TEST(keyboard, tells_letters_from_arrows) {
    EXPECT_THAT(keys_in("qü"), ElementsAre(key{.text = "q"}, key{.text = "ü"}));
    EXPECT_THAT(keys_in("\x1b[A\x1bOB\x1b[5~\x1b[6~"),
                ElementsAre(key{.what = key::kind::up},
                            key{.what = key::kind::down},
                            key{.what = key::kind::page_up},
                            key{.what = key::kind::page_down}));
    EXPECT_THAT(keys_in("\r\x7f\x1b"),
                ElementsAre(key{.what = key::kind::enter},
                            key{.what = key::kind::backspace},
                            key{.what = key::kind::escape}));
}

TEST(keyboard, keys_that_mean_nothing_are_no_keys) {
    EXPECT_THAT(keys_in("\x01\x1b[1;5C\x1b[15~"), IsEmpty());
    EXPECT_THAT(keys_in("\xff"), ElementsAre(key{.text = "\xff"}));
}

TEST(keyboard, half_an_arrow_waits_for_its_other_half) {
    std::string typed = "a\x1b[";
    EXPECT_THAT(take_keys(typed, more_input::may_follow), ElementsAre(key{.text = "a"}));
    typed += "A";
    EXPECT_THAT(take_keys(typed, more_input::may_follow), ElementsAre(key{.what = key::kind::up}));
    EXPECT_EQ(typed, "");
}

top_row row(const std::string& name, std::size_t waiters, duration held) {
    return {.name = name,
            .holder = "4711 backup --full on db1",
            .mode = "exclusive",
            .fence = "1794774344100203",
            .held = held,
            .remaining = 20s,
            .waiters = waiters,
            .rate = grant_rate{.per_second = 0.25, .at_least = false}};
}

top_view view_of(std::vector<top_row> rows) {
    top_view view;
    view.title = "sqlite:/tmp/locks.db  12:00:00";
    view.rows = std::move(rows);
    return view;
}

TEST(top_rows, are_sorted_by_what_is_asked_for) {
    std::vector<top_row> rows{row("b", 1, 1s), row("a", 0, 2s), row("c", 2, 3s)};
    const auto names = [&](order by) {
        sort(rows, by);
        return rows[0].name + rows[1].name + rows[2].name;
    };
    EXPECT_EQ(names(order::name), "abc");
    EXPECT_EQ(names(order::waiters), "cba");
    EXPECT_EQ(names(order::held), "cab");
    EXPECT_EQ(names(order::rate), "abc"); // equals by name
    keep_matching(rows, "b");
    ASSERT_EQ(rows.size(), 1U);
}

TEST(top_rows, count_new_holders) {
    grant_counter grants;
    look seen;
    seen.asked = seen.answered = instant{} + 1h;
    grants.add(seen);
    EXPECT_FALSE(grants.rate_of("a"));
    seen.asked = seen.answered += 2s;
    seen.locks = {{.name = "a", .holders = {holder_info{}}, .waiters = {}}};
    grants.add(seen);
    ASSERT_TRUE(grants.rate_of("a"));
    EXPECT_DOUBLE_EQ(grants.rate_of("a")->per_second, 0.5);
    EXPECT_TRUE(grants.rate_of("a")->at_least);
    seen.asked = seen.answered += 2s;
    grants.add(seen);
    EXPECT_DOUBLE_EQ(grants.rate_of("a")->per_second, 0.25);
    EXPECT_FALSE(grants.rate_of("a")->at_least);
    EXPECT_DOUBLE_EQ(grants.rate_of("b")->per_second, 0);
}

TEST(top_rows, fit_every_screen) {
    std::vector<top_row> rows;
    for (int i = 0; i < 50; ++i) {
        rows.push_back(row("日本語の名前/" + std::to_string(i), 3, 100h));
    }
    for (std::size_t columns = 1; columns < 300; columns += 7) {
        for (const std::size_t height : {1U, 2U, 3U, 4U, 10U, 24U, 100U}) {
            const auto lines = lines_of(view_of(rows), {.columns = columns, .rows = height});
            EXPECT_EQ(lines.size(), height);
            for (const auto& line : lines) {
                EXPECT_LE(columns_of(line.text), columns) << line.text;
            }
        }
    }
}

TEST(top_rows, show_more_on_wider_screens) {
    const auto header = [](std::size_t columns) {
        return lines_of(view_of({row("orders", 0, 1s)}), {.columns = columns, .rows = 10})[1].text;
    };
    EXPECT_THAT(header(40), testing::Not(HasSubstr("REMAINING")));
    for (const auto* name : {"NAME", "HELD", "WAITERS", "HOLDER"}) {
        EXPECT_THAT(header(40), HasSubstr(name));
        EXPECT_THAT(header(200), HasSubstr(name));
    }
    EXPECT_THAT(header(80), HasSubstr("GRANTS/S"));
    EXPECT_THAT(header(200), HasSubstr("FENCE"));
}

TEST(top_rows, trouble_stands_in_the_first_line) {
    auto view = view_of({row("orders", 0, 1s)});
    view.trouble = "the engine does not answer\x1b[2J";
    const auto lines = lines_of(view, {.columns = 80, .rows = 10});
    EXPECT_EQ(lines[0].text, "the engine does not answer\\x1b[2J");
    EXPECT_EQ(lines[0].how, colour::red);
    EXPECT_THAT(lines[2].text, HasSubstr("orders")); // what was last seen stays
}

} // namespace
} // namespace holdfast::cli

namespace holdfast::cli_tests {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

class top_screen : public workshop {
protected:
    void SetUp() override {
        if (tmux::is_missing()) {
            GTEST_SKIP() << "there is no tmux here";
        }
    }

    /// A shell in which top runs; it tells how top ended, and what it left of the terminal.
    [[nodiscard]] std::string top_in_a_shell(const std::string& options = "") const {
        write("script",
              "trap : INT\n" // ^C is meant for top alone
              "echo before\n"
              "sh -c 'echo $$ > \"$0\"; exec \"$@\"' " +
                  path("pid") + " " + holdfast_program() + " top --every 50ms " + options +
                  "\necho code-$?\n"
                  "stty -a | grep -o '[ -]icanon\\|[ -]echo '\n"
                  "read x\n");
        return "sh " + path("script");
    }
    [[nodiscard]] pid_t pid_of_top() const { return std::stoi(read("pid")); }

    static void expect_a_tidy_terminal(const tmux& terminal, int code) {
        EXPECT_TRUE(terminal.shows("code-" + std::to_string(code))) << terminal.screen();
        EXPECT_TRUE(terminal.shows(" icanon"));
        EXPECT_TRUE(terminal.shows(" echo"));
        EXPECT_THAT(terminal.screen(), HasSubstr("before")); // the first screen is back
        EXPECT_THAT(terminal.screen(), Not(HasSubstr("q quit")));
    }
};

TEST_F(top_screen, shows_locks_as_they_come_and_go) {
    const tmux terminal{folder(), top_in_a_shell()};
    EXPECT_TRUE(terminal.shows("0 locks, 0 waiters"));
    auto holder = start_holding({"orders/1"}, "read x");
    EXPECT_TRUE(terminal.shows("orders/1"));
    EXPECT_TRUE(terminal.shows(std::to_string(guardian_of(holder)) + " sh -c"));
    auto waiter = start({"run", "orders/1", "--", "true"});
    EXPECT_TRUE(terminal.shows("1 lock, 1 waiter"));
    holder.write("\n");
    EXPECT_TRUE(terminal.shows("0 locks, 0 waiters"));
    terminal.press({"q"});
    expect_a_tidy_terminal(terminal, 0);
}

TEST_F(top_screen, sorts_filters_and_scrolls) {
    auto one = start_holding({"one"}, "read x");
    auto two = start_holding({"two"}, "read x");
    auto waiter = start({"run", "two", "--", "true"});
    const tmux terminal{folder(), top_in_a_shell(), {.columns = 80, .rows = 4}}; // one row fits
    EXPECT_TRUE(terminal.shows("1-1 of 2"));
    EXPECT_THAT(terminal.screen(), HasSubstr("\none "));
    terminal.press({"Down"});
    EXPECT_TRUE(terminal.shows("\ntwo "));
    terminal.press({"PageUp"});
    EXPECT_TRUE(terminal.shows("\none "));
    terminal.press({"w"});
    EXPECT_TRUE(terminal.shows("\ntwo "));
    terminal.press({"n", "/", "t", "w", "Enter"});
    EXPECT_TRUE(terminal.shows("names with 'tw'"));
    EXPECT_TRUE(terminal.shows("\ntwo "));
    terminal.press({"Escape"});
    EXPECT_TRUE(terminal.shows("code-0"));
}

TEST_F(top_screen, follows_the_size_of_its_window) {
    auto holder = start_holding({"名前/1"}, "read x");
    const tmux terminal{folder(), top_in_a_shell(), {.columns = 40, .rows = 10}};
    EXPECT_TRUE(terminal.shows("名前/1"));
    EXPECT_THAT(terminal.screen(), Not(HasSubstr("FENCE")));
    terminal.resize({.columns = 200, .rows = 50});
    EXPECT_TRUE(terminal.shows("FENCE"));
    terminal.resize({.columns = 60, .rows = 12});
    EXPECT_TRUE(terminal.hides("FENCE"));
    EXPECT_TRUE(terminal.shows("名前/1"));
    terminal.press({"C-c"});
    EXPECT_TRUE(terminal.shows("code-0"));
}

TEST_F(top_screen, leaves_a_tidy_terminal_when_it_is_ended) {
    auto holder = start_holding({"a"}, "read x");
    for (const int signal : {SIGTERM, SIGHUP, SIGQUIT}) {
        const tmux terminal{folder(), top_in_a_shell()};
        EXPECT_TRUE(terminal.shows("1 lock"));
        ::kill(pid_of_top(), signal);
        expect_a_tidy_terminal(terminal, 128 + signal);
    }
}

TEST_F(top_screen, stops_and_continues_as_a_job) {
    const tmux terminal{folder(), "env PS1=ready- bash --norc --noprofile"};
    EXPECT_TRUE(terminal.shows("ready-"));
    terminal.type(holdfast_program() + " top --every 50ms\n");
    EXPECT_TRUE(terminal.shows("q quit"));
    terminal.press({"C-z"});
    EXPECT_TRUE(terminal.shows("Stopped"));
    EXPECT_THAT(terminal.screen(), Not(HasSubstr("q quit")));
    terminal.type("fg\n");
    EXPECT_TRUE(terminal.shows("q quit"));
    terminal.press({"q"});
    EXPECT_TRUE(terminal.hides("q quit"));
    terminal.type("echo code-$?\n");
    EXPECT_TRUE(terminal.shows("code-0"));
}

TEST_F(top_screen, goes_on_trying_when_the_engine_is_away) {
    write("place", "no folder");
    const tmux terminal{folder(), top_in_a_shell("-u sqlite:" + path("place") + "/locks.db")};
    EXPECT_TRUE(terminal.shows("Not a directory"));
    std::filesystem::remove(path("place"));
    std::filesystem::create_directory(path("place"));
    EXPECT_TRUE(terminal.shows("0 locks"));
    terminal.press({"q"});
    expect_a_tidy_terminal(terminal, 0);
}

TEST_F(top_screen, has_no_colours_where_they_are_not_wanted) {
    auto holder = start_holding({"a"}, "read x");
    {
        const tmux terminal{folder(), top_in_a_shell()};
        EXPECT_TRUE(terminal.shows("1 lock"));
        EXPECT_THAT(terminal.screen({"-e"}), HasSubstr("\x1b[1m"));
    }
    const tmux terminal{folder(), "NO_COLOR=1 " + top_in_a_shell()};
    EXPECT_TRUE(terminal.shows("1 lock"));
    EXPECT_THAT(terminal.screen({"-e"}), Not(HasSubstr("\x1b[1m")));
}

class top_once : public workshop {};

TEST_F(top_once, is_a_plain_table_where_there_is_no_terminal) {
    auto holder = start_holding({"orders/1"}, "read x");
    for (const auto& arguments : {std::vector<std::string>{"top"}, {"top", "--once", "ord*"}}) {
        const auto how = holdfast(arguments);
        EXPECT_EQ(how.code, 0);
        EXPECT_EQ(how.err, "");
        EXPECT_THAT(how.out, testing::StartsWith("NAME"));
        EXPECT_THAT(how.out, HasSubstr("FENCE"));
        EXPECT_THAT(how.out, HasSubstr("\norders/1  exclusive"));
        EXPECT_THAT(how.out, Not(HasSubstr("\x1b")));
    }
}

} // namespace
} // namespace holdfast::cli_tests
