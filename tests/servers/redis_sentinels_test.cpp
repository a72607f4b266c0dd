#include "servers/redis_sentinels.hpp"

#include <gtest/gtest.h>

namespace holdfast::servers {
namespace {

class sentinels_fixture : public ::testing::Test {
protected:
    void SetUp() override { HOLDFAST_NEEDS(redis_server::missing()); }
};

TEST_F(sentinels_fixture, fail_over_when_asked_and_when_the_primary_dies) {
    redis_sentinels group{{.replicas = 2}};
    auto& first = group.primary();
    EXPECT_EQ(&first, &group.server(0));
    first.ask({"SET", "x", "1"});
    EXPECT_EQ(first.ask({"WAIT", "2", "5000"}).number, 2);

    group.fail_over();
    auto& second = group.primary();
    EXPECT_NE(&second, &first);
    EXPECT_EQ(second.ask({"GET", "x"}).text, "1");

    second.kill();
    group.until_primary_is_not(second.port());
    EXPECT_NE(&group.primary(), &second);
}

TEST_F(sentinels_fixture, can_be_locked_and_encrypted) {
    redis_sentinels group{
        {.each = {.over = encryption::tls, .password = "secret", .user = "alice"}}};
    EXPECT_EQ(group.url(),
              "redis+sentinel://alice:secret@" + group.sentinel_addresses() + "/holdfast");
    auto& first = group.primary();
    group.fail_over();
    EXPECT_NE(&group.primary(), &first);
}

} // namespace
} // namespace holdfast::servers
