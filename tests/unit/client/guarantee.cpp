#include <holdfast/guarantee.hpp>

#include <gtest/gtest.h>

namespace holdfast {
namespace {

constexpr auto everything = guarantee::fence | guarantee::survives_restart |
                            guarantee::survives_clock_jump | guarantee::fair |
                            guarantee::survives_death;

capabilities strong() {
    capabilities able;
    able.engine = "strong";
    able.fences = fence_grade::consensus;
    able.fair = true;
    return able;
}

TEST(guaranteeing, nothing_is_asked_of_an_engine_unless_it_is) {
    EXPECT_EQ(what_is_missing(capabilities{}, {}), "");
    EXPECT_EQ(what_is_missing(strong(), everything), "");
}

TEST(guaranteeing, each_thing_that_is_missing_is_named_with_the_engine) {
    const auto reason = [](auto weaken, guarantee wanted) {
        auto able = strong();
        weaken(able);
        return what_is_missing(able, wanted);
    };
    EXPECT_EQ(reason([](auto& a) { a.fences = fence_grade::none; }, guarantee::fence),
              "strong gives no fences");
    EXPECT_EQ(
        reason([](auto& a) { a.fences = fence_grade::transient; }, guarantee::survives_restart),
        "strong begins its fences anew when it restarts");
    EXPECT_NE(
        reason([](auto& a) { a.assumptions = 2; }, guarantee::survives_restart).find("forget"),
        std::string::npos);
    EXPECT_NE(
        reason([](auto& a) { a.assumptions = 4; }, guarantee::survives_clock_jump).find("clock"),
        std::string::npos);
    EXPECT_NE(reason([](auto& a) { a.fair = false; }, guarantee::fair).find("order"),
              std::string::npos);
    EXPECT_NE(
        reason([](auto& a) { a.loses_permits = true; }, guarantee::survives_death).find("dead"),
        std::string::npos);
    EXPECT_EQ(reason([](auto& a) { a.fair = false; }, guarantee::fence), "") << "not asked for";
}

TEST(guaranteeing, sets_are_joined) {
    EXPECT_TRUE(everything.has(guarantee::fair));
    EXPECT_FALSE((guarantee::fence | guarantee::fair).has(guarantee::survives_restart));
    EXPECT_TRUE(guarantees{}.empty());
}

} // namespace
} // namespace holdfast
