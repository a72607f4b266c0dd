#include "quorum/url.hpp"

#include <holdfast/client.hpp>
#include <holdfast/error.hpp>
#include <holdfast/mutex.hpp>

#include <gtest/gtest.h>

#include <string>

namespace holdfast::quorum {
namespace {

std::string refusal(const std::string& rest) {
    try {
        static_cast<void>(read_url(rest));
        ADD_FAILURE() << rest << " was accepted";
        return {};
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::error_code{make_error_code(errc::bad_option)}) << rest;
        return e.what();
    }
}

TEST(quorum_url, is_split_only_before_a_scheme) {
    const auto parts = read_url("strong,sqlite:a,b.db,sqlite:c.db,sqlite:d,strong,e.db");
    EXPECT_TRUE(parts.strong);
    ASSERT_EQ(parts.members.size(), 3U);
    EXPECT_EQ(parts.members[0], "sqlite:a,b.db");
    EXPECT_EQ(parts.members[1], "sqlite:c.db");
    EXPECT_EQ(parts.members[2], "sqlite:d,strong,e.db");
}

TEST(quorum_url, that_makes_no_sense_gets_one_sentence_without_its_password) {
    EXPECT_NE(refusal("").find("URLs of its members"), std::string::npos);
    EXPECT_NE(refusal("strong").find("URLs of its members"), std::string::npos);
    EXPECT_NE(refusal("a.db,b.db,c.db").find("URLs of its members"), std::string::npos);
    EXPECT_NE(refusal("sqlite:a").find("three"), std::string::npos);
    EXPECT_NE(refusal("sqlite:a,sqlite:b").find("three"), std::string::npos);
    EXPECT_NE(refusal("sqlite:a,sqlite:b,sqlite:c,sqlite:d").find("odd"), std::string::npos);
    EXPECT_NE(refusal("sqlite:a,memory:,sqlite:c").find("one kind"), std::string::npos);
    EXPECT_NE(refusal("sqlite:a,sqlite:b,sqlite:a").find("twice"), std::string::npos);
    EXPECT_NE(refusal("quorum:memory:,memory:,memory:").find("member of a quorum"),
              std::string::npos);
    EXPECT_EQ(refusal("sqlite:secret,memory:,sqlite:c").find("secret"), std::string::npos);
}

TEST(quorum_url, opens_a_client) {
    const auto client = holdfast::open("quorum:memory:,memory:,memory:");
    EXPECT_STREQ(client.capabilities().engine, "quorum");
    EXPECT_EQ(client.capabilities().may_forget, 0);
    mutex orders{client, "orders/42"};
    const auto lease = orders.try_acquire();
    ASSERT_TRUE(lease);
    EXPECT_TRUE(lease->fence());
    EXPECT_EQ(holdfast::open("quorum:strong,memory:,memory:,memory:").capabilities().may_forget, 2);
}

} // namespace
} // namespace holdfast::quorum
