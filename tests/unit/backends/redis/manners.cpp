#include "backends/redis/manners.hpp"

#include <gtest/gtest.h>

using namespace std::chrono_literals;

namespace holdfast::redis::test {
namespace {

const instant start = instant{} + 1000s;

TEST(redis_manners, nobody_yields_to_nobody) {
    manners m;
    m.releasing("c", start);
    EXPECT_EQ(m.yields("c", start), 0s);
    m.heard("c", start);
    EXPECT_TRUE(m.idle());
}

TEST(redis_manners, who_releases_lets_others_go_first_for_a_moment) {
    manners m;
    m.others_listen("c", start);
    EXPECT_FALSE(m.idle());
    EXPECT_EQ(m.yields("c", start), 0s) << "not before a release";
    m.releasing("c", start + 1ms);
    EXPECT_EQ(m.yields("c", start + 2ms), 1ms);
    EXPECT_EQ(m.yields("c", start + 3ms), 0s);
    EXPECT_EQ(m.yields("d", start + 2ms), 0s);
}

TEST(redis_manners, the_next_release_of_another_ends_it) {
    manners m;
    m.others_listen("c", start);
    m.releasing("c", start);
    m.heard("c", start + 100us); // our own
    EXPECT_GT(m.yields("c", start + 150us), 0s);
    m.heard("c", start + 200us);
    EXPECT_EQ(m.yields("c", start + 300us), 0s);
}

TEST(redis_manners, others_are_forgotten_after_a_while) {
    manners m;
    m.others_listen("c", start);
    m.releasing("c", start + 2s);
    EXPECT_TRUE(m.idle());
    for (int i = 0; i < 5000; ++i)
        m.others_listen(std::to_string(i), start + i * 10ms);
    m.releasing("4999", start + 60s);
    EXPECT_EQ(m.yields("4999", start + 60s), 0s);
}

} // namespace
} // namespace holdfast::redis::test
