// Rows of names that nobody has wanted for `fence_retention` are removed, and their fences go on
// growing all the same. The server's clock is moved, so that nobody has to wait for that long.

#include "gate/sql_at_fault.hpp"

namespace holdfast::servers {
namespace {

class sql_fences : public sql_at_fault {
protected:
    void set_up() override {
        start({.clock = server_clock::adjustable});
        ours.emplace(open_ours("fence_retention=1m"));
    }
    void TearDown() override { ours.reset(); }

    void set_clock(std::chrono::milliseconds ahead) { server->process().shift_wall_clock(ahead); }

    /// Held for a moment.
    fence next_fence(const std::string& name) {
        mutex door{*ours, name};
        auto held = get(door, for_long);
        const auto its = held.fence();
        EXPECT_EQ(held.release(), release_result::released);
        return its;
    }
    [[nodiscard]] bool has_row(const std::string& name) const {
        return server->number("SELECT count(*) FROM holdfast_lock WHERE name = '" + name + "'") ==
               1;
    }
    [[nodiscard]] bool row_goes(const std::string& name) const {
        return eventually([&] { return !has_row(name); });
    }

    // Nothing in these tests happens because it has passed, on whatever clock.
    static constexpr acquire_options for_long{.ttl = 24h};

    std::optional<client> ours;
};
HOLDFAST_ON_BOTH(sql_fences);

TEST_P(sql_fences, idle_rows_are_removed_and_fences_grow) {
    mutex door{*ours, "held"}, again{*ours, "waited for"};
    const auto held = get(door, for_long);
    auto before = get(again, for_long);
    const auto others = open_ours();
    auto waiter = in_a_thread([&] {
        mutex it{others, "waited for"};
        return get(it, for_long);
    });
    EXPECT_TRUE(
        eventually([&] { return server->number("SELECT count(*) FROM holdfast_line") == 1; }));
    fence last;
    for (const auto ahead : {0min, 2min, 4min}) {
        set_clock(ahead);
        const auto its = next_fence("idle");
        EXPECT_GT(its, last) << promise_broken;
        last = its;
        EXPECT_TRUE(has_row("idle"));
        set_clock(ahead + 2min);
        EXPECT_TRUE(row_goes("idle"));
    }
    EXPECT_TRUE(has_row("held"));
    EXPECT_TRUE(has_row("waited for"));
    EXPECT_TRUE(held.held());
    EXPECT_EQ(before.release(), release_result::released);
    static_cast<void>(outcome(waiter));
    // Set back by less than the retention.
    set_clock(6min - 30s);
    EXPECT_GT(next_fence("idle"), last) << promise_broken;
}

TEST_P(sql_fences, a_row_stays_whose_fence_is_ahead_of_the_clock) {
    set_clock(60min);
    const auto far_ahead = next_fence("orders");
    set_clock(0min); // somebody has noticed
    const auto after = next_fence("orders");
    EXPECT_GT(after, far_ahead) << promise_broken;
    static_cast<void>(next_fence("idle"));
    set_clock(2min);
    EXPECT_TRUE(row_goes("idle"));
    EXPECT_GT(next_fence("orders"), after) << promise_broken;
    // Where it was caught up with, it may go.
    set_clock(120min);
    EXPECT_TRUE(row_goes("orders"));
    EXPECT_GT(next_fence("orders"), after) << promise_broken;
}

} // namespace
} // namespace holdfast::servers
