#include <holdfast/error.hpp>
#include <holdfast/retry.hpp>

#include <gtest/gtest.h>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

TEST(retrying, once_means_once) {
    constexpr auto policy = retry::once(1s);
    EXPECT_EQ(policy.pause_before(0, 0s, 0), 1s);
    EXPECT_EQ(policy.pause_before(1, 1s, 0), std::nullopt);
}

TEST(retrying, n_times_means_n_times) {
    constexpr auto policy = retry::times(3, 50ms);
    EXPECT_EQ(policy.pause_before(2, 1h, 7), 50ms);
    EXPECT_EQ(policy.pause_before(3, 0s, 7), std::nullopt);
}

TEST(retrying, until_elapsed_looks_at_the_clock_alone) {
    constexpr auto policy = retry::until_elapsed(10s, 1s);
    EXPECT_EQ(policy.pause_before(1000, 9999ms, 0), 1s);
    EXPECT_EQ(policy.pause_before(0, 10s, 0), std::nullopt);
}

TEST(retrying, exponential_draws_from_a_range_that_doubles_and_never_pauses_for_nothing) {
    constexpr auto policy = retry::exponential(100ms, 4);
    for (std::uint64_t chance = 0; chance < 64; ++chance) {
        for (std::uint32_t k = 0; k < 4; ++k) {
            const auto pause = policy.pause_before(k, 0s, chance);
            ASSERT_TRUE(pause);
            EXPECT_GE(*pause, 100ms);
            EXPECT_LT(*pause, 100ms * (2 << k));
        }
        EXPECT_FALSE(policy.pause_before(4, 0s, chance));
    }
    EXPECT_EQ(policy.pause_before(3, 0s, 15), 1500ms);
}

TEST(retrying, bounded_exponential_has_a_longest_pause) {
    constexpr auto policy = retry::bounded_exponential(100ms, 1s, 20);
    EXPECT_EQ(policy.pause_before(10, 0s, 2047), 1s);
    EXPECT_EQ(policy.pause_before(0, 0s, 1), 100ms);
}

TEST(retrying, a_pause_that_cannot_be_counted_is_forever_and_not_the_past) {
    const auto policy = retry::exponential(std::chrono::hours{24 * 365}, 29);
    EXPECT_EQ(policy.pause_before(28, 0s, ~std::uint64_t{0}), forever);
    EXPECT_FALSE(policy.pause_before(29, 0s, 1)) << "29 doublings are enough for anybody";
}

TEST(retrying, forever_never_ends) {
    EXPECT_EQ(retry::forever(2s).pause_before(4'000'000'000, 24h * 365, 1), 2s);
}

TEST(retrying, a_policy_has_a_name_and_is_found_by_it) {
    for (const auto& policy : {retry::once(1s),
                               retry::times(3, 250ms),
                               retry::until_elapsed(2min, 5s),
                               retry::exponential(100ms, 5),
                               retry::bounded_exponential(100ms, 5s, 10),
                               retry::forever(1h)})
        EXPECT_EQ(retry_policy::named(policy.name()), policy) << policy.name();
    EXPECT_EQ(retry_policy::named(" times( 3 ,1s ) "), retry::times(3, 1s));
    EXPECT_EQ(retry::times(3, 1500ms).name(), "times(3, 1500ms)");
}

TEST(retrying, what_is_no_policy_is_refused_with_a_sentence) {
    for (const char* wrong : {"",
                              "sometimes(1s)",
                              "once",
                              "once()",
                              "once(1)",
                              "once(0s)",
                              "once(1s",
                              "times(0, 1s)",
                              "times(-1, 1s)",
                              "times(1s)",
                              "exponential(5, 100ms)",
                              "forever(1s, 2)",
                              "forever(1 parsec)"})
        try {
            (void)retry_policy::named(wrong);
            ADD_FAILURE() << wrong;
        } catch (const error& e) {
            EXPECT_EQ(e.code(), errc::bad_option);
            EXPECT_NE(std::string{e.what()}.find("exponential(100ms, 5)"), std::string::npos);
        }
}

} // namespace
} // namespace holdfast
