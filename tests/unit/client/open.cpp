#include <holdfast/client.hpp>
#include <holdfast/error.hpp>
#include <holdfast/mutex.hpp>

#include <gtest/gtest.h>

#include <string>

namespace holdfast {
namespace {

std::string refusal(const std::string& url, errc expected) {
    try {
        static_cast<void>(open(url));
        ADD_FAILURE() << url << " was accepted";
        return {};
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::error_code{make_error_code(expected)}) << url;
        return e.what();
    }
}

TEST(opening, by_url_finds_the_engine) {
    EXPECT_STREQ(open("memory:").capabilities().engine, "memory");
}

TEST(opening, refuses_a_bad_url_with_a_sentence_that_names_no_password) {
    EXPECT_NE(refusal("nonsense", errc::bad_option).find("scheme"), std::string::npos);
    EXPECT_NE(refusal(":x", errc::bad_option).find("scheme"), std::string::npos);
    EXPECT_NE(refusal("carrier-pigeon://me:secret@loft", errc::bad_option).find("carrier-pigeon"),
              std::string::npos);
    EXPECT_EQ(refusal("carrier-pigeon://me:secret@loft", errc::bad_option).find("secret"),
              std::string::npos);
    EXPECT_FALSE(refusal("memory:what", errc::bad_option).empty());
}

TEST(opening, without_a_url_uses_the_environment) {
    ::setenv("HOLDFAST_URL", "memory:", 1);
    EXPECT_EQ(default_url(), "memory:");
    EXPECT_STREQ(open().capabilities().engine, "memory");
    ::unsetenv("HOLDFAST_URL");
    EXPECT_EQ(default_url(), "sqlite:");
}

} // namespace
} // namespace holdfast
