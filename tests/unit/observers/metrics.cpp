#include <holdfast/metrics.hpp>

#include <gtest/gtest.h>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

TEST(counting, a_quantile_is_never_below_and_little_above_what_was_seen) {
    histogram all;
    for (int i = 1; i <= 1000; ++i)
        all.record(std::chrono::microseconds{i});
    EXPECT_EQ(all.count(), 1000U);
    EXPECT_EQ(all.sum(), 500'500us);
    for (const double part : {0.01, 0.5, 0.9, 0.99, 1.0}) {
        const auto exact = std::chrono::duration<double, std::micro>{part * 1000};
        EXPECT_GE(all.quantile(part), exact) << part;
        EXPECT_LE(all.quantile(part), exact * 1.26 + 1us) << part;
    }
}

TEST(counting, each_time_falls_into_the_bucket_that_begins_where_the_one_before_ended) {
    for (std::size_t i = 0; i + 1 < histogram::buckets; ++i) {
        const auto end = histogram::upper_bound_of(i);
        EXPECT_LT(end, histogram::upper_bound_of(i + 1));
        if (end % 1us != 0ns) // below 4 µs some quarters are no whole microseconds, and stay empty
            continue;
        histogram below, above;
        below.record(end - 1us);
        above.record(end);
        EXPECT_EQ(above.in_bucket(i), 0U) << i;
        EXPECT_LE(below.quantile(1), end) << i;
    }
}

TEST(counting, the_smallest_and_the_largest_are_kept_too) {
    histogram all;
    all.record(-5s);
    all.record(0ns);
    all.record(duration::max());
    EXPECT_EQ(all.count(), 3U);
    EXPECT_EQ(all.in_bucket(0), 2U);
    EXPECT_EQ(all.in_bucket(histogram::buckets - 1), 1U);
    EXPECT_EQ(histogram{}.quantile(0.5), 0ns);
}

TEST(counting, each_event_is_counted_and_its_time_put_where_it_belongs) {
    metrics seen;
    const auto happens = [&](event::kind what, duration took, duration handed_over = {}) {
        seen.on({what, "x", fence{1}, instant{}, took, handed_over, {}});
    };
    happens(event::kind::granted, 2ms);
    happens(event::kind::granted, 3ms, 40us);
    happens(event::kind::passed, 1ms);
    happens(event::kind::released, 5s);
    happens(event::kind::lost, 6s);
    happens(event::kind::renewed, 20s);
    happens(event::kind::renewed_late, 1s);
    happens(event::kind::notice, 0s);
    EXPECT_EQ(seen.count(event::kind::granted), 2U);
    EXPECT_EQ(seen.count(event::kind::notice), 1U);
    EXPECT_EQ(seen.count(event::kind::unknown), 0U);
    EXPECT_EQ(seen.wait.count(), 3U);
    EXPECT_EQ(seen.hand_off.count(), 1U);
    EXPECT_EQ(seen.hold.count(), 2U);
    EXPECT_EQ(seen.hold.sum(), 11s);
    EXPECT_EQ(seen.renewal_slack.count(), 2U);
}

TEST(counting, one_observer_tells_several) {
    const auto one = std::make_shared<metrics>(), two = std::make_shared<metrics>();
    all_of({one, nullptr, two})->on({event::kind::lost, "x", {}, {}, {}, {}, {}});
    EXPECT_EQ(one->count(event::kind::lost) + two->count(event::kind::lost), 2U);
}

TEST(counting, every_event_has_a_name) {
    for (std::size_t i = 0; i < event::kinds; ++i)
        EXPECT_NE(name_of(static_cast<event::kind>(i)), "?");
    EXPECT_EQ(name_of(static_cast<event::kind>(event::kinds)), "?");
}

} // namespace
} // namespace holdfast
