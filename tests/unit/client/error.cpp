#include <holdfast/error.hpp>

#include <gtest/gtest.h>

namespace holdfast {
namespace {

TEST(errors, are_tested_by_condition) {
    const error_code unknown = errc::outcome_unknown;
    EXPECT_TRUE(unknown == condition::try_again);
    EXPECT_TRUE(unknown == condition::may_be_held);
    EXPECT_FALSE(unknown == condition::bad_input);

    const error_code refused = errc::backend_refused;
    EXPECT_FALSE(refused == condition::try_again);
    EXPECT_FALSE(refused == condition::may_be_held);

    EXPECT_TRUE(error_code{errc::bad_name} == condition::bad_input);
    EXPECT_FALSE(error_code{} == condition::try_again);
}

TEST(errors, travel_as_std_system_error_with_one_sentence) {
    try {
        throw_error(errc::backend_refused, "the file belongs to somebody else");
        FAIL();
    } catch (const std::system_error& e) {
        EXPECT_STREQ(e.what(), "the file belongs to somebody else");
        EXPECT_EQ(e.code(), std::error_code{make_error_code(errc::backend_refused)});
    }
    try {
        throw_error(errc::timed_out);
        FAIL();
    } catch (const std::system_error& e) {
        EXPECT_STREQ(e.what(), make_error_code(errc::timed_out).message().c_str());
    }
}

TEST(errors, have_a_message_each) {
    for (int value = 1; value <= static_cast<int>(errc::cancelled); ++value)
        EXPECT_NE(make_error_code(errc{value}).message(), "unknown holdfast error") << value;
}

} // namespace
} // namespace holdfast
