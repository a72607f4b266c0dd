// A quorum of three databases that know nothing of each other, and any one of them dies.
//
//   clients ──┬── first        counter: on a fourth server, to which nothing happens
//             ├── second
//             └── third

#include "gate/sql_counter.hpp"

namespace holdfast::servers {
namespace {

class sql_quorum : public sql_at_fault {
protected:
    void set_up() override {
        for (int i = 0; i < 3; ++i)
            members.push_back(GetParam().start({}));
    }

    [[nodiscard]] std::string all_of_them() const {
        return "quorum:" + members.at(0)->url() + ',' + members.at(1)->url() + ',' +
               members.at(2)->url();
    }
    /// How often what keeps it there has been renewed; 0 if this member does not keep it.
    [[nodiscard]] static std::int64_t renewals_at(const sql_server& one, fence least) {
        return one.number("SELECT coalesce(max(b.renewals), 0) FROM holdfast_lock l"
                          " JOIN holdfast_bond b ON b.id = l.bond WHERE l.name = 'orders'"
                          " AND l.nonce IS NOT NULL AND l.fence >= " +
                          std::to_string(least.value()));
    }

    std::vector<std::unique_ptr<sql_server>> members;
};
HOLDFAST_ON_BOTH(sql_quorum);

TEST_P(sql_quorum, a_count_is_exact_whoever_of_the_three_dies) {
    start();
    sql_counter counter{*server};
    crowd all{all_of_them(), counter, 10s};
    for (const auto& one : members) {
        EXPECT_TRUE(counter.goes_on());
        one->process().kill();
        EXPECT_TRUE(counter.goes_on());
        one->process().restart();
    }
    EXPECT_TRUE(counter.goes_on());
    all.end();
    counter.expect_that_each_counted_once();
}

TEST_P(sql_quorum, a_lease_survives_the_loss_of_any_one) {
    const auto ours = open(all_of_them()), others = open(all_of_them());
    mutex door{ours, "orders"}, again{others, "orders"};
    fence last;
    for (const auto& lost : members) {
        auto held = get(door, {.wait = patience, .ttl = 6s});
        EXPECT_GT(held.fence(), last) << promise_broken;
        last = held.fence();
        for (const auto& one : members) // who was late or away comes with a renewal
            ASSERT_TRUE(eventually([&] { return renewals_at(*one, last) > 0; }));
        lost->process().kill();
        for (const auto& one : members) {
            if (one == lost)
                continue;
            const auto before = renewals_at(*one, last);
            EXPECT_TRUE(eventually([&] { return renewals_at(*one, last) > before; }));
        }
        EXPECT_TRUE(held.held());
        EXPECT_FALSE(again.try_acquire()) << promise_broken;
        EXPECT_NE(held.release(), release_result::lost) << promise_broken;
        auto next = get(again, {.wait = patience, .ttl = 6s});
        EXPECT_GT(next.fence(), last) << promise_broken;
        last = next.fence();
        EXPECT_NE(next.release(), release_result::lost) << promise_broken;
        lost->process().restart();
    }
}

TEST_P(sql_quorum, without_two_of_them_nobody_gets_it) {
    const auto ours = open(all_of_them());
    mutex door{ours, "orders"};
    EXPECT_TRUE(door.try_acquire_for(patience));
    members.at(0)->process().kill();
    members.at(2)->process().kill();
    try {
        EXPECT_FALSE(door.try_acquire()) << promise_broken;
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), condition::try_again) << e.what();
    }
    members.at(2)->process().restart();
    EXPECT_TRUE(door.try_acquire_for(patience));
}

} // namespace
} // namespace holdfast::servers
