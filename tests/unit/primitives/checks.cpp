#include "primitives/checks.hpp"

#include <holdfast/error.hpp>
#include <holdfast/primitive.hpp>

#include <gtest/gtest.h>

#include <string>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

bool accepted(const std::string& name) {
    try {
        check_name(name);
        return true;
    } catch (const error& refused) {
        EXPECT_EQ(refused.code(), std::error_code{make_error_code(errc::bad_name)});
        EXPECT_FALSE(std::string{refused.what()}.empty());
        return false;
    }
}

TEST(names, are_1_to_1024_bytes) {
    EXPECT_FALSE(accepted(""));
    EXPECT_TRUE(accepted("a"));
    EXPECT_TRUE(accepted(std::string(1024, 'a')));
    EXPECT_FALSE(accepted(std::string(1025, 'a')));
    EXPECT_FALSE(accepted(std::string(10'000'000, 'a')));
}

TEST(names, have_no_control_characters) {
    EXPECT_FALSE(accepted("a\nb"));
    EXPECT_FALSE(accepted("a\0b"s));
    EXPECT_FALSE(accepted("\x7f"));
    EXPECT_FALSE(accepted("\x1b[31m"));
    EXPECT_TRUE(accepted("orders/42 %*?[x]{y}"));
}

TEST(names, are_utf_8) {
    EXPECT_TRUE(accepted("Schlüssel"));
    EXPECT_TRUE(accepted("鍵"));
    EXPECT_TRUE(accepted("🔒"));
    EXPECT_FALSE(accepted("\xff"));
    EXPECT_FALSE(accepted("\xc3"));             // cut off
    EXPECT_FALSE(accepted("\xc0\xaf"));         // overlong
    EXPECT_FALSE(accepted("\xe0\x80\xaf"));     // overlong
    EXPECT_FALSE(accepted("\xed\xa0\x80"));     // surrogate
    EXPECT_FALSE(accepted("\xf4\x90\x80\x80")); // beyond Unicode
    EXPECT_FALSE(accepted("\xf0\x80\x80\x80")); // overlong
    EXPECT_FALSE(accepted("a\x80"));
}

TEST(options, of_a_sane_kind_are_accepted) {
    EXPECT_EQ(detail::what_is_wrong_with({}), nullptr);
    EXPECT_EQ(detail::what_is_wrong_with({.wait = -1s, .ttl = 50ms}), nullptr);
    EXPECT_EQ(detail::what_is_wrong_with({.ttl = 24h * 30, .max_hold = 1ns}), nullptr);
}

TEST(options, that_make_no_sense_are_refused) {
    EXPECT_NE(detail::what_is_wrong_with({.ttl = 0s}), nullptr);
    EXPECT_NE(detail::what_is_wrong_with({.ttl = -1s}), nullptr);
    EXPECT_NE(detail::what_is_wrong_with({.ttl = 49ms}), nullptr);
    EXPECT_NE(detail::what_is_wrong_with({.ttl = 24h * 3650}), nullptr);
    EXPECT_NE(detail::what_is_wrong_with({.lock_delay = -1s}), nullptr);
    EXPECT_NE(detail::what_is_wrong_with({.lock_delay = 2h}), nullptr);
    EXPECT_NE(detail::what_is_wrong_with({.max_hold = 0s}), nullptr);
    EXPECT_NE(detail::what_is_wrong_with({.ttl = 1s, .stop_margin = 1s}), nullptr);
}

} // namespace
} // namespace holdfast
