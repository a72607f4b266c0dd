#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/prometheus.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <prometheus/registry.h>

namespace holdfast {
namespace {

using testing::HasSubstr;

TEST(prometheus_adapter, tells_what_a_client_has_seen) {
    const auto seen = std::make_shared<metrics>();
    {
        const auto client = open("memory:", {.observer = seen});
        EXPECT_EQ((mutex{client, "orders/42"}.acquire().release()), release_result::released);
    } // whoever closes a client has heard everything
    const auto text = prometheus_text(seen, {{"service", "billing"}});
    EXPECT_THAT(text, HasSubstr("# TYPE holdfast_events_total counter"));
    EXPECT_THAT(text, HasSubstr(R"(holdfast_events_total{service="billing",event="granted"} 1)"));
    EXPECT_THAT(text, HasSubstr(R"(holdfast_events_total{service="billing",event="lost"} 0)"));
    EXPECT_THAT(text, HasSubstr("# TYPE holdfast_wait_seconds histogram"));
    EXPECT_THAT(text, HasSubstr(R"(holdfast_wait_seconds_count{service="billing"} 1)"));
    EXPECT_THAT(text, HasSubstr(R"(holdfast_hold_seconds_bucket{service="billing",le="+Inf"} 1)"));
    EXPECT_THAT(text, HasSubstr(R"(holdfast_hand_off_seconds_count{service="billing"} 0)"));
}

TEST(prometheus_adapter, its_buckets_only_grow) {
    const auto seen = std::make_shared<metrics>();
    for (int i = 0; i < 30; ++i)
        seen->wait.record(std::chrono::microseconds{std::int64_t{1} << i});
    for (const auto& family : prometheus_collector(seen)->Collect()) {
        if (family.name != "holdfast_wait_seconds")
            continue;
        ASSERT_EQ(family.metric.size(), 1U);
        const auto& all = family.metric[0].histogram;
        EXPECT_EQ(all.sample_count, 30U);
        for (std::size_t i = 1; i < all.bucket.size(); ++i) {
            EXPECT_GE(all.bucket[i].cumulative_count, all.bucket[i - 1].cumulative_count);
            EXPECT_GT(all.bucket[i].upper_bound, all.bucket[i - 1].upper_bound);
        }
        EXPECT_EQ(all.bucket.back().cumulative_count, 30U);
        return;
    }
    ADD_FAILURE() << "there is no holdfast_wait_seconds";
}

} // namespace
} // namespace holdfast
