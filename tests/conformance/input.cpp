// What makes no sense is refused with one sentence, and leaves nothing behind.

#include "conformance/engine.hpp"
#include "conformance/events.hpp"
#include "conformance/scratch.hpp"

#include <holdfast/mutex.hpp>
#include <holdfast/recursive_mutex.hpp>
#include <holdfast/semaphore.hpp>
#include <holdfast/shared_mutex.hpp>

#include <cstdlib>
#include <string>
#include <vector>

namespace holdfast::conformance {
namespace {

HOLDFAST_SUITE(input_conformance, nothing);

TEST_P(input_conformance, names_that_are_none_are_refused) {
    using namespace std::string_literals;
    const auto client = open();
    for (const auto& name : {
             ""s,
             std::string(1025, 'x'),
             std::string(10'000'000, 'x'),
             "two\nlines"s,
             "a\ttab"s,
             "a\0nothing"s,
             "\x1b[31mred"s,
             "delete\x7f"s,
             "cut off \xe2\x82"s,
             "not UTF-8 \xff"s,
             "overlong \xc0\xaf"s,
             "a surrogate \xed\xa0\x80"s,
             "too large \xf4\x90\x80\x80"s,
         }) {
        const auto shown = ::testing::PrintToString(name.substr(0, 20));
        EXPECT_EQ(error_of([&] { (void)mutex{client, name}; }), code(errc::bad_name)) << shown;
        EXPECT_EQ(error_of([&] { (void)recursive_mutex{client, name}; }), code(errc::bad_name));
        EXPECT_EQ(error_of([&] { (void)shared_mutex{client, name}; }), code(errc::bad_name));
        EXPECT_EQ(error_of([&] { (void)semaphore{client, name, 2}; }), code(errc::bad_name));
        EXPECT_EQ(error_of([&] { (void)client.force_release(name); }), code(errc::bad_name))
            << shown;
    }
    EXPECT_TRUE(client.inspect().empty());
}

// Each of these pairs is one lock for somebody's engine: collations, paths, patterns, hashes.
TEST_P(input_conformance, names_that_differ_in_anything_are_different_locks) {
    const std::string long_name(1023, 'n');
    std::vector<std::string> alike{
        "a",
        "A",
        "a ",
        " a",
        "a/",
        "/a",
        "a/b",
        "a//b",
        "a\\b",
        "a%2Fb",
        "a%b",
        "a_b",
        "a*",
        "a?",
        "[a]",
        "{a}",
        "a;b",
        "a'b",
        "a\"b",
        "a--",
        "..",
        ".",
        "a:b",
        "-a",
        "0",
        "00",
        "null",
        "\u00e4",
        "a\u0308",
        "\u00c4",
        "\u00df",
        "ss",
        "\u4e2d",
        "\U0001f512",
        "\u00a0a",
        long_name + "x",
        long_name + "y",
        "lock",
        "holdfast",
    };
    if (promises().ttl == ttl_scope::session) // there it is a path, and so another word for "a"
        std::erase(alike, "/a");
    const auto client = open();
    const auto other = open();
    std::vector<lease> held;
    for (const auto& name : alike) {
        auto lease = mutex{client, name}.try_acquire();
        ASSERT_TRUE(lease) << name;
        EXPECT_EQ(lease->name(), name);
        held.push_back(std::move(*lease));
    }
    for (const auto& name : alike)
        EXPECT_FALSE((mutex{other, name}.try_acquire())) << name;
    const auto seen = other.inspect();
    ASSERT_EQ(seen.size(), alike.size());
    for (const auto& name : alike)
        EXPECT_EQ(
            std::count_if(seen.begin(), seen.end(), [&](const auto& l) { return l.name == name; }),
            1)
            << name;
    for (auto& lease : held)
        EXPECT_EQ(lease.release(), release_result::released);
    EXPECT_TRUE(other.inspect().empty());
}

TEST_P(input_conformance, options_that_make_no_sense_are_refused) {
    const auto client = open();
    mutex orders{client, "orders/42"};
    for (const acquire_options& odd : {
             acquire_options{.ttl = 0s},
             acquire_options{.ttl = -1s},
             acquire_options{.ttl = 1ns},
             acquire_options{.ttl = std::chrono::hours{24 * 365 * 10}},
             acquire_options{.ttl = duration::max()},
             acquire_options{.ttl = duration::min()},
             acquire_options{.lock_delay = -1s},
             acquire_options{.lock_delay = duration::max()},
             acquire_options{.max_hold = 0s},
             acquire_options{.max_hold = -1s},
             acquire_options{.stop_margin = -1s},
             acquire_options{.ttl = 10s, .stop_margin = 10s},
         }) {
        EXPECT_EQ(error_of([&] { (void)orders.acquire(odd); }), code(errc::bad_option));
        EXPECT_EQ(error_of([&] { (void)orders.try_acquire(odd); }), code(errc::bad_option));
        EXPECT_EQ(error_of([&] { (void)orders.try_acquire_for(1s, odd); }), code(errc::bad_option));
    }
    EXPECT_TRUE(client.inspect().empty());
    EXPECT_TRUE(orders.try_acquire());
}

TEST_P(input_conformance, a_ttl_may_be_a_hundred_milliseconds_or_a_day) {
    mutex orders{open(), "orders/42"};
    for (const duration ttl :
         {duration{100ms}, duration{24h}}) // a busy machine may take a few tries
        EXPECT_NO_THROW((void)orders.acquire({.wait = 20s, .ttl = ttl})) << ttl.count();
}

// ------------------------------------------------------------------------------------- open(url)

TEST(open_conformance, urls_that_are_none_are_refused_with_a_sentence) {
    for (const char* url : {"nonsense",
                            "nonsense:",
                            ":",
                            "://",
                            "/tmp/locks.db",
                            "http://example.org",
                            "memory:somewhere",
                            " sqlite:x"})
        EXPECT_EQ(error_of([&] { (void)open(url); }), code(errc::bad_option)) << url;
}

TEST(open_conformance, the_sentence_names_what_is_known_and_keeps_passwords_to_itself) {
    try {
        (void)open("nonsense://user:secret@host");
        FAIL() << "should have thrown";
    } catch (const error& e) {
        const std::string sentence = e.what();
        EXPECT_NE(sentence.find("nonsense"), std::string::npos) << sentence;
        EXPECT_NE(sentence.find("memory:"), std::string::npos) << sentence;
        EXPECT_EQ(sentence.find("secret"), std::string::npos) << sentence;
    }
}

TEST(open_conformance, memory_is_a_place_of_its_own_for_each_client) {
    const auto one = open("memory:");
    const auto two = open("memory:");
    const auto lease = mutex{one, "orders/42"}.acquire();
    EXPECT_TRUE((mutex{two, "orders/42"}.try_acquire()));
    const auto copy = one;
    EXPECT_FALSE((mutex{copy, "orders/42"}.try_acquire())) << "a copy is the same client";
}

TEST(open_conformance, the_environment_says_what_to_open_by_default) {
    ::setenv("HOLDFAST_URL", "memory:", 1);
    EXPECT_EQ(default_url(), "memory:");
    EXPECT_STREQ(open().capabilities().engine, "memory");
    ::unsetenv("HOLDFAST_URL");
    EXPECT_EQ(default_url().find("sqlite:"), 0U);
}

TEST(open_conformance, errors_answer_what_a_caller_wants_to_know) {
    const error_code timed_out = errc::timed_out;
    EXPECT_EQ(timed_out, condition::try_again);
    EXPECT_NE(timed_out, condition::may_be_held);
    const error_code unknown = errc::outcome_unknown;
    EXPECT_EQ(unknown, condition::may_be_held);
    EXPECT_EQ(unknown, condition::try_again);
    for (const error_code bad :
         {make_error_code(errc::bad_name), make_error_code(errc::bad_option)}) {
        EXPECT_EQ(bad, condition::bad_input);
        EXPECT_NE(bad, condition::try_again);
    }
    for (int value = 1; value <= static_cast<int>(errc::cancelled); ++value)
        EXPECT_FALSE(make_error_code(static_cast<errc>(value)).message().empty());
    EXPECT_STREQ(timed_out.category().name(), "holdfast");
}

TEST(open_conformance, what_is_caught_is_compared_in_the_same_words) {
    try {
        (void)mutex{open("memory:"), ""};
        FAIL() << "should have thrown";
    } catch (const std::system_error& e) {
        EXPECT_TRUE(e.code() == errc::bad_name);
        EXPECT_TRUE(e.code() != errc::timed_out);
        EXPECT_TRUE(e.code() == condition::bad_input);
        EXPECT_TRUE(e.code() != condition::try_again);
    }
}

} // namespace
} // namespace holdfast::conformance
