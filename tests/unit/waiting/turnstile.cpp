#include "waiting/turnstile.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;

constexpr instant start{1h};

class turnstiles : public testing::Test {
protected:
    struct somebody final : wish {};

    /// Lets go of those who queue before it is gone.
    struct emptied {
        void operator()(turnstile* t) const {
            t->wishes.clear();
            delete t;
        }
    };
    using one = std::unique_ptr<turnstile, emptied>;

    [[nodiscard]] static one made_for(mode how, acquire_options options = {}) {
        request r;
        r.mode = how;
        r.options = options;
        return one{new turnstile{std::make_shared<const std::string>("x"), shape::of(r)}};
    }
    void queue(turnstile& t) {
        t.wishes.push_back(*people_.emplace_back(std::make_unique<somebody>()));
    }
    engine_grant& granted(turnstile& t, std::int64_t number = 10, std::uint32_t reserved = 100) {
        grant given;
        given.fence = fence{number};
        given.reserved = reserved;
        auto& g = t.grants.emplace_back(t, nullptr, given, start);
        g.by = &bond_;
        bond_.belief->deadline = (start + 1min).time_since_epoch().count();
        return g;
    }
    bond bond_{{}};
    std::vector<std::unique_ptr<somebody>> people_;
};

TEST_F(turnstiles, are_shared_by_claims_that_differ_only_in_how_long_they_wait_and_hold) {
    request a, b;
    b.options.wait = 5s;
    b.options.max_hold = 5s;
    b.options.stop_margin = 1s;
    b.owner = owner_id{7};
    EXPECT_EQ(shape::of(a), shape::of(b));
    b.options.ttl = 5s;
    EXPECT_NE(shape::of(a), shape::of(b));
    b = a;
    b.options.order = queueing::fair;
    EXPECT_NE(shape::of(a), shape::of(b));
    b = a;
    b.mode = mode::shared;
    EXPECT_NE(shape::of(a), shape::of(b));
}

TEST_F(turnstiles, talk_to_the_engine_once_for_all_who_wait) {
    const auto t = made_for(mode::exclusive);
    EXPECT_EQ(t->talks_wanted(), 0U);
    queue(*t);
    queue(*t);
    EXPECT_EQ(t->talks_wanted(), 1U);
    granted(*t);
    EXPECT_EQ(t->talks_wanted(), 0U) << "who waits here waits for us";
}

TEST_F(turnstiles, talk_for_each_in_fair_order_whoever_holds_it) {
    const auto t = made_for(mode::exclusive, {.order = queueing::fair});
    queue(*t);
    queue(*t);
    granted(*t);
    EXPECT_EQ(t->talks_wanted(), 2U);
}

TEST_F(turnstiles, ask_for_the_next_permit_while_others_are_held) {
    const auto t = made_for(mode::permit);
    queue(*t);
    granted(*t);
    EXPECT_EQ(t->talks_wanted(), 1U);
}

TEST_F(turnstiles, pass_up_to_64_times_and_for_less_than_50_ms) {
    const auto t = made_for(mode::exclusive);
    auto& g = granted(*t);
    EXPECT_FALSE(t->may_pass(g, start)) << "to nobody";
    queue(*t);
    g.passes = 63;
    EXPECT_TRUE(t->may_pass(g, start + 50ms - 1ns));
    EXPECT_FALSE(t->may_pass(g, start + 50ms));
    g.passes = 64;
    EXPECT_FALSE(t->may_pass(g, start));
}

TEST_F(turnstiles, pass_nothing_that_is_wanted_elsewhere_or_has_ended) {
    const auto t = made_for(mode::exclusive);
    queue(*t);
    auto& g = granted(*t);
    g.wanted = true;
    EXPECT_FALSE(t->may_pass(g, start));
    g.wanted = false;
    bond_.belief->deadline = start.time_since_epoch().count();
    EXPECT_FALSE(t->may_pass(g, start));
}

TEST_F(turnstiles, pass_neither_readings_nor_explicit_leases_nor_in_fair_order) {
    const one some[] = {made_for(mode::shared),
                        made_for(mode::exclusive, {.renew = false}),
                        made_for(mode::exclusive, {.order = queueing::fair})};
    for (const auto& t : some) {
        queue(*t);
        EXPECT_FALSE(t->may_pass(granted(*t), start));
    }
}

TEST_F(turnstiles, are_open_to_readers_for_50_ms_unless_somebody_wants_to_write) {
    const auto t = made_for(mode::shared);
    EXPECT_EQ(t->open_for_readers(start), nullptr);
    auto& g = granted(*t);
    EXPECT_EQ(t->open_for_readers(start + 50ms - 1ns), &g);
    EXPECT_EQ(t->open_for_readers(start + 50ms), nullptr);
    g.wanted = true;
    EXPECT_EQ(t->open_for_readers(start), nullptr);
}

TEST_F(turnstiles, give_each_pass_a_larger_fence_as_long_as_some_are_reserved) {
    const auto t = made_for(mode::exclusive);
    auto& g = granted(*t, 10, 2);
    for (const std::int64_t expected : {10, 11, 12, 12}) {
        EXPECT_EQ(turnstile::next_fence(g), fence{expected});
        ++g.passes;
    }
    EXPECT_EQ(turnstile::next_fence(granted(*t, 0, 0)), fence{}) << "none stays none";
}

} // namespace
} // namespace holdfast::detail
