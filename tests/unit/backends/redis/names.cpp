#include "backends/redis/names.hpp"
#include "claims.hpp"

#include <gtest/gtest.h>

#include <cctype>

namespace holdfast::redis::test {
namespace {

TEST(redis_names, are_wrapped_unless_they_choose_a_slot_themselves) {
    EXPECT_EQ(std::string{before("p", "orders")}, "p:{orders}");
    EXPECT_EQ(std::string{before("p", "a{b}c")}, "p:a{b}c");
    EXPECT_EQ(std::string{before("p", "a{b")}, "p:a{b");
    EXPECT_EQ(std::string{before("p", "a}b")}, "p:{a}b}");
    EXPECT_EQ(std::string{behind("orders", "s")}, "{orders}:s");
    EXPECT_EQ(std::string{behind("{x}y", "s")}, "{x}y:s");
}

TEST(redis_names, are_those_of_redisson) {
    EXPECT_EQ(std::string{lock_channel("n")}, "redisson_lock__channel:{n}");
    EXPECT_EQ(std::string{token_key("n")}, "redisson_lock_token:{n}");
    EXPECT_EQ(std::string{queue_key("n")}, "redisson_lock_queue:{n}");
    EXPECT_EQ(std::string{patience_key("n")}, "redisson_lock_timeout:{n}");
    EXPECT_EQ(std::string{read_write_channel("n")}, "redisson_rwlock:{n}");
    EXPECT_EQ(std::string{permits_key("n")}, "{n}:timeout");
    EXPECT_EQ(std::string{permits_channel("n")}, "redisson_sc:{n}");
    EXPECT_EQ(std::string{reader_key("n", "c:7")}, "{n}:c:7:rwlock_timeout:1");
}

// "123456789" is the check value of CRC-16/XMODEM; the others are what CLUSTER KEYSLOT says.
TEST(redis_names, belong_to_the_slot_that_the_cluster_says) {
    EXPECT_EQ(slot_of("123456789"), 0x31c3 & 0x3fff);
    EXPECT_EQ(slot_of(""), 0);
    EXPECT_EQ(slot_of("foo"), 12182);
    EXPECT_EQ(slot_of("somekey"), 11058);
    EXPECT_EQ(slot_of("foo{hash_tag}"), 2515);
    EXPECT_EQ(slot_of("{user1000}.following"), slot_of("{user1000}.followers"));
    EXPECT_EQ(slot_of("{user1000}.following"), slot_of("user1000"));
    EXPECT_EQ(slot_of("foo{bar}{zap}"), slot_of("bar"));
    EXPECT_EQ(slot_of("foo{{bar}}zap"), slot_of("{bar"));
    EXPECT_NE(slot_of("foo{}{bar}"), slot_of("bar"));
}

TEST(redis_names, keep_to_one_slot_or_are_told_apart) {
    for (const char* const good : {"orders", "orders/42", "a{b}", "{a}b", "a{b}{c}"})
        EXPECT_TRUE(keeps_to_one_slot(good)) << good;
    for (const char* const bad : {"a}b", "}"})
        EXPECT_FALSE(keeps_to_one_slot(bad)) << bad;
    // With an opening brace and no tag, derived names are other keys as a whole.
    for (const char* const bad : {"a{b", "a{}b"})
        EXPECT_FALSE(keeps_to_one_slot(bad)) << bad;
}

TEST(redis_names, of_a_holder_are_a_uuid_and_a_positive_java_long) {
    const holder_names ours{"3f0d5a6e-8b1c-4c51-9a55-0f2f6c1de001"};
    const auto of = [&](unsigned char first) { return std::string{ours.of(nonce_of(first))}; };
    EXPECT_EQ(of(0xff), ours.uuid() + ":9223372036854775807");
    EXPECT_EQ(of(0), ours.uuid() + ":0");
    EXPECT_EQ(of(3), of(3));
    EXPECT_NE(of(3), of(4));
}

TEST(redis_names, of_a_client_are_version_4_uuids) {
    for (const auto seed : {0U, 0x5aU, 0xffU}) {
        const auto made = uuid_from(nonce_of(static_cast<unsigned char>(seed)));
        ASSERT_EQ(made.size(), 36U);
        EXPECT_EQ(made[14], '4');
        EXPECT_NE(std::string{"89ab"}.find(made[19]), std::string::npos);
        for (const std::size_t dash : {8U, 13U, 18U, 23U})
            EXPECT_EQ(made[dash], '-');
    }
}

} // namespace
} // namespace holdfast::redis::test
