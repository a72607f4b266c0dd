#include "lease/validity.hpp"

#include <gtest/gtest.h>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;

constexpr instant start{1h};

TEST(validity, believes_a_thousandth_and_the_margin_less_than_the_engine) {
    EXPECT_EQ(deadline_of({{}, start, 30s, 0ns}), start + 30s - 30ms);
    EXPECT_EQ(deadline_of({{}, start, 30s, 3ms}), start + 30s - 33ms);
}

TEST(validity, leaves_room_for_three_requests_after_the_first_renewal) {
    for (const duration ttl : {50ms, 200ms, 1000ms, 30'000ms, 3'600'000ms}) {
        const auto left = deadline_of({{}, start, ttl, 0ns}) - renewal_due({{}, start, ttl, 0ns});
        EXPECT_GE(left, 3 * request_limit(ttl)) << ttl.count();
        EXPECT_LE(renewal_retry(ttl), left / 5);
    }
}

TEST(validity, does_not_stop_work_that_is_renewed_in_time) {
    EXPECT_EQ(stop_margin_of(0s, 30s, 30s, true), 5s);
    EXPECT_EQ(stop_margin_of(0s, 30s, 6s, true), 1s) << "of a session that is shorter";
    EXPECT_EQ(stop_margin_of(7s, 30s, 30s, true), 7s);
    EXPECT_EQ(stop_margin_of(7s, 30s, 6s, true), 3s) << "renewed when four are left";
    EXPECT_EQ(stop_margin_of(20s, 30s, 30s, false), 20s);
}

TEST(validity, does_not_run_over_the_end_of_time) {
    EXPECT_EQ(later(start, forever), never);
    EXPECT_EQ(later(never, 1s), never);
    EXPECT_EQ(later(start, 1s), start + 1s);
}

TEST(validity, knows_when_the_engine_has_ended_it_by_itself) {
    EXPECT_GT(gone_by_itself(start, 10s, 5s), start + 15s);
    EXPECT_LT(gone_by_itself(start, 10s, 5s), start + 16s);
}

} // namespace
} // namespace holdfast::detail
