// The pure parts of the command line: times, texts, JSON.

#include "cli/complaint.hpp"
#include "cli/diagnosis.hpp"
#include "cli/durations.hpp"
#include "cli/echo_filter.hpp"
#include "cli/json.hpp"
#include "cli/text.hpp"
#include "cli/waiting_line.hpp"

#include <gmock/gmock.h>

#include <chrono>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

TEST(durations, a_bare_number_is_seconds) {
    EXPECT_EQ(parse_duration("30", "-w"), 30s);
    EXPECT_EQ(parse_duration("0", "-w"), 0s);
    EXPECT_EQ(parse_duration("0.25", "-w"), 250ms);
    EXPECT_EQ(parse_duration(".5", "-w"), 500ms);
}

TEST(durations, units_are_understood) {
    EXPECT_EQ(parse_duration("500ms", "-w"), 500ms);
    EXPECT_EQ(parse_duration("30s", "-w"), 30s);
    EXPECT_EQ(parse_duration("2m", "-w"), 2min);
    EXPECT_EQ(parse_duration("1.5h", "-w"), 90min);
    EXPECT_EQ(parse_duration("2d", "-w"), 48h);
}

TEST(durations, everything_else_is_refused) {
    for (const auto* text : {"",
                             "s",
                             "-1",
                             "-0",
                             "+1",
                             "1x",
                             "1 s",
                             "1e3",
                             "0x10",
                             "nan",
                             "inf",
                             "1s2",
                             "101000d",
                             "99999999999999999999999999"}) {
        EXPECT_THROW((void)parse_duration(text, "-w"), usage_error) << text;
    }
}

TEST(durations, are_written_for_humans) {
    EXPECT_EQ(human(0ms), "0ms");
    EXPECT_EQ(human(250ms), "250ms");
    EXPECT_EQ(human(59'999ms), "59s");
    EXPECT_EQ(human(133s), "2m 13s");
    EXPECT_EQ(human(120s), "2m");
    EXPECT_EQ(human(5h + 2min + 3s), "5h 2m");
    EXPECT_EQ(human(25h), "1d 1h");
}

TEST(texts, control_characters_and_broken_utf8_become_visible) {
    EXPECT_EQ(printable("plain äöü €"), "plain äöü €");
    EXPECT_EQ(printable("a\nb\tc\x1b[1m"), "a\\nb\\tc\\x1b[1m");
    EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
    EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b"); // a control character too: CSI
    EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");
}

TEST(texts, are_cut_between_characters) {
    EXPECT_EQ(shortened("äöü", 3), "äöü");
    EXPECT_EQ(shortened("äöüß", 3), "äö…");
    EXPECT_EQ(shortened("abc", 0), "");
}

TEST(texts, are_measured_as_terminals_draw_them) {
    EXPECT_EQ(columns_of("abc"), 3U);
    EXPECT_EQ(columns_of("äöü…≥"), 5U);
    EXPECT_EQ(columns_of("日本語"), 6U);
    EXPECT_EQ(columns_of("🔒x"), 3U);
    EXPECT_EQ(columns_of("e\u0301"), 1U); // an accent upon the e
    EXPECT_EQ(shortened("日本語", 5), "日本…");
    EXPECT_EQ(shortened("日本語", 4), "日…"); // half a character is none
    EXPECT_EQ(fitted("日本語", 4), "日… ");
    EXPECT_EQ(fitted("ab", 4), "ab  ");
}

TEST(texts, are_broken_between_words) {
    EXPECT_EQ(wrapped("one two three", 7), (std::vector<std::string>{"one two", "three"}));
    EXPECT_EQ(wrapped("unbreakable a", 5), (std::vector<std::string>{"unbreakable", "a"}));
    EXPECT_EQ(wrapped("", 5), (std::vector<std::string>{""}));
}

TEST(texts, lose_their_last_character_as_a_whole) {
    EXPECT_EQ(without_last_character("aü"), "a");
    EXPECT_EQ(without_last_character("a"), "");
    EXPECT_EQ(without_last_character(""), "");
}

TEST(texts, a_command_line_is_quoted_where_it_must_be) {
    EXPECT_EQ(command_line({"sh", "-c", "a b", ""}), "sh -c 'a b' ''");
}

TEST(texts, a_pattern_for_a_name_escapes_what_globs_mean) {
    EXPECT_EQ(pattern_for("a*b?c[d]"), "a[*]b[?]c[[]d]");
}

TEST(texts, passwords_are_not_shown) {
    EXPECT_EQ(without_password("mysql://me:secret@host:3306/db"), "mysql://me:***@host:3306/db");
    EXPECT_EQ(without_password("redis://host:6379/0?password=secret&x=1"),
              "redis://host:6379/0?password=***&x=1");
    EXPECT_EQ(without_password("quorum:redis://:a@h1,redis://:b@h2"),
              "quorum:redis://:***@h1,redis://:***@h2");
    EXPECT_EQ(without_password("sqlite:/a:b@c"), "sqlite:/a:b@c");
    EXPECT_EQ(without_password("mysql://me@host:3306/db"), "mysql://me@host:3306/db");
}

TEST(json_text, is_json) {
    json out;
    out.begin_object()
        .member("a", 1)
        .key("b")
        .begin_array()
        .value("x\"\\\n\x01")
        .value(nullptr)
        .value(true)
        .begin_object()
        .end_object()
        .end_array()
        .member("c", "\xff ü")
        .end_object();
    EXPECT_EQ(out.text(), R"({"a":1,"b":["x\"\\\n\u0001",null,true,{}],"c":"\ufffd ü"})");
}

TEST(echoes, are_what_came_by_the_other_way_just_now) {
    const auto now = boot_clock::now();
    const arrival term{.signal = SIGTERM, .sender = 7, .from_terminal = false};
    const arrival from_another{.signal = SIGTERM, .sender = 8, .from_terminal = false};
    echo_filter echoes;
    EXPECT_FALSE(echoes.is_echo(term, way::front, now));
    EXPECT_TRUE(echoes.is_echo(term, way::guardian, now + 1ms));
    EXPECT_FALSE(echoes.is_echo(term, way::guardian, now + 2ms));
    EXPECT_FALSE(echoes.is_echo(term, way::guardian, now + 3ms)); // twice by one way is twice
    EXPECT_FALSE(echoes.is_echo(from_another, way::front, now + 4ms));
    EXPECT_FALSE(echoes.is_echo(from_another, way::guardian, now + 1s));
}

diagnosis engine_with(std::vector<finding> findings) {
    diagnosis all{.url = "redis://me:secret@db1", .able = {}, .probe = {}, .findings = {}};
    all.able.engine = "redis";
    all.able.fences = fence_grade::hybrid;
    all.findings = std::move(findings);
    return completed(all);
}

TEST(diagnoses, begin_with_the_grade_of_their_worst_finding) {
    EXPECT_THAT(as_text(engine_with({})), testing::StartsWith("redis  redis://me:***@db1  good\n"));
    const auto all = engine_with({{finding::grade::good, "fine", ""},
                                  {finding::grade::danger, "it forgets", "do not let it"},
                                  {finding::grade::notice, "old", "renew it"}});
    EXPECT_EQ(overall(all), finding::grade::danger);
    EXPECT_EQ(all.findings.front().what, "it forgets");
    EXPECT_THAT(as_text(all), testing::StartsWith("redis  redis://me:***@db1  danger\n"));
    EXPECT_THAT(as_json(all), testing::HasSubstr(R"("grade":"danger")"));
}

TEST(diagnoses, have_a_fix_for_all_that_is_not_good) {
    auto all = engine_with({{finding::grade::danger, "it burns", ""}});
    all.able.fences = fence_grade::none;
    all.probe = {.contended = false, .acquiring = 1s, .releasing = 1s};
    all = completed(all);
    EXPECT_EQ(all.findings.size(), 3U);
    for (const auto& found : all.findings) {
        EXPECT_NE(found.fix, "") << found.what;
    }
    EXPECT_THAT(as_text(all), testing::HasSubstr("fix: "));
}

TEST(waiting, tells_holder_time_and_place) {
    const party us{.host = "here", .pid = 7, .purpose = ""};
    lock_info lock{.name = "orders", .holders = {}, .waiters = {}};
    EXPECT_EQ(waiting_sentence("orders", lock, us, 80), "waiting for orders");
    lock.holders.push_back({.who = {.host = "db1", .pid = 4711, .purpose = "backup --full"},
                            .mode = mode::exclusive,
                            .fence = fence{1},
                            .held_for = 133s,
                            .remaining = 20s,
                            .remark = ""});
    lock.waiters.push_back({.who = {.host = "db2", .pid = 7, .purpose = ""}});
    lock.waiters.push_back({.who = us});
    const auto on = [&](std::size_t columns) {
        return waiting_sentence("orders", lock, us, columns);
    };
    EXPECT_EQ(on(80),
              "waiting for orders, held by db1 pid 4711 (backup --full) for 2m 13s; 2nd in line");
    EXPECT_EQ(on(79),
              "waiting for orders, held by db1 pid 4711 (backup --fu…) for 2m 13s; 2nd in line");
    EXPECT_EQ(on(70), "waiting for orders, held by db1 pid 4711 for 2m 13s; 2nd in line");
    EXPECT_EQ(on(60), "waiting for orders, held by db1 pid 4711 for 2m 13s");
    EXPECT_EQ(on(40), "waiting for orders; 2nd in line");
    EXPECT_EQ(on(20), "waiting for orders");
    EXPECT_EQ(on(15), "waiting for or…");
    EXPECT_EQ(waiting_sentence(std::string(500, 'n'), lock, us, 70),
              "waiting for nnnnnnnnnnn…, held by db1 pid 4711 for 2m 13s; 2nd in line");
    for (std::size_t columns = 0; columns < 120; ++columns) {
        EXPECT_LE(columns_of(on(columns)), columns);
    }
}

TEST(waiting, does_not_pretend_to_know_the_holder) {
    const party us{.host = "here", .pid = 7, .purpose = ""};
    lock_info lock{.name = "orders", .holders = {holder_info{}}, .waiters = {}};
    EXPECT_EQ(waiting_sentence("orders", lock, us, 80), "waiting for orders, held by somebody");
    lock.holders[0].who.purpose = "org.redisson.Redisson";
    EXPECT_EQ(waiting_sentence("orders", lock, us, 80),
              "waiting for orders, held by somebody (org.redisson.Redisson)");
}

} // namespace
} // namespace holdfast::cli
