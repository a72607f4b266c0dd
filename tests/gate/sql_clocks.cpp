// The server's clock is set, forward and back by an hour, while locks are held and waited for. Who
// goes by it alone gives them away; who watches whether they are renewed does not.

#include "conformance/puppet.hpp"
#include "gate/sql_at_fault.hpp"

namespace holdfast::servers {
namespace {

using conformance::puppet;

class sql_clocks : public sql_at_fault {
protected:
    void set_up() override { start({.clock = server_clock::adjustable}); }
    void set_clock(std::chrono::hours ahead) { server->process().shift_wall_clock(ahead); }

    /// Of the lock with this name.
    [[nodiscard]] std::int64_t renewals(const std::string& name) const {
        return server->number("SELECT b.renewals FROM holdfast_lock l JOIN holdfast_bond b"
                              " ON b.id = l.bond WHERE l.name = '" +
                              name + "'");
    }
};
HOLDFAST_ON_BOTH(sql_clocks);

// Nothing in these tests happens because it has passed.
constexpr acquire_options for_long{.ttl = 10min, .renew = false};

TEST_P(sql_clocks, who_goes_by_the_clock_gives_the_lock_away_and_the_guard_helps) {
    const auto ours = open_ours("steal=clock"), others = open_ours("steal=clock");
    mutex door{ours, "orders"}, again{others, "orders"};
    const auto held = get(door, for_long);
    EXPECT_FALSE(again.try_acquire());
    set_clock(1h);
    const auto taken = get(again, {.wait = patience});
    EXPECT_TRUE(held.held()) << "two believe to hold it";
    EXPECT_GT(taken.fence(), held.fence()) << promise_broken;
    const auto at = server->connect();
    EXPECT_THROW(at->ask(guard_of(held)), std::runtime_error) << promise_broken;
    EXPECT_EQ(at->ask(guard_of(taken)), "1");
}

TEST_P(sql_clocks, who_watches_takes_nothing_when_the_clock_is_set) {
    for (const std::string steal : {"observe", "both"}) {
        const auto ours = open_ours("steal=" + steal), others = open_ours("steal=" + steal);
        mutex door{ours, steal}, again{others, steal};
        auto held = get(door, for_long);
        auto waiter = in_a_thread([&] { return get(again, {}); });
        for (const auto ahead : {1h, -1h, 0h}) {
            set_clock(ahead);
            const auto third = open_ours("steal=" + steal);
            EXPECT_FALSE((mutex{third, steal}.try_acquire_for(conformance::a_while)))
                << promise_broken << steal;
        }
        EXPECT_EQ(waiter.wait_for(0s), std::future_status::timeout) << promise_broken << steal;
        set_clock(-1h);
        EXPECT_EQ(held.release(), release_result::released);
        EXPECT_GT(outcome(waiter).fence(), held.fence()) << promise_broken << "an hour earlier";
        set_clock(0h);
    }
}

/// Where puppets have their locks.
class place_with_url final : public conformance::place {
public:
    explicit place_with_url(std::string url) : url_{std::move(url)} {}
    std::unique_ptr<backend> connect() override { return nullptr; }
    std::string url() const override { return url_; }

private:
    std::string url_;
};

TEST_P(sql_clocks, who_renews_keeps_it_and_who_dies_is_missed_after_his_ttl) {
    struct one_way {
        std::string steal;
        puppet holder;
        std::future<lease> waiter{};
    };
    std::vector<one_way> ways;
    for (const std::string steal : {"observe", "both"}) {
        auto& it = ways.emplace_back(
            one_way{steal, puppet{place_with_url{server->url() + "?steal=" + steal}}});
        (void)it.holder.acquires({.name = steal, .options = {.ttl = 3s}});
        it.waiter = in_a_thread([this, steal] {
            mutex door{open_ours("steal=" + steal), steal};
            return get(door, {.ttl = 3s});
        });
    }
    for (const auto ahead : {1h, -1h}) {
        set_clock(ahead);
        const auto seen = std::pair{renewals("observe"), renewals("both")};
        EXPECT_TRUE(eventually([&] {
            return renewals("observe") >= seen.first + 2 && renewals("both") >= seen.second + 2;
        }));
        for (auto& it : ways)
            EXPECT_TRUE(it.holder.holds());
    }
    for (auto& it : ways)
        EXPECT_EQ(it.waiter.wait_for(0s), std::future_status::timeout)
            << promise_broken << it.steal;
    for (auto& it : ways)
        it.holder.kill();
    for (auto& it : ways)
        EXPECT_TRUE(outcome(it.waiter).held()) << it.steal;
}

} // namespace
} // namespace holdfast::servers
