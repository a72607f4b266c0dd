// Waiters are served in the order in which they asked.

#include "conformance/engine.hpp"
#include "conformance/events.hpp"
#include "conformance/puppet.hpp"

#include <holdfast/mutex.hpp>

#include <memory>
#include <numeric>
#include <thread>
#include <vector>

namespace holdfast::conformance {
namespace {

constexpr acquire_options in_turn{.order = queueing::fair};

HOLDFAST_SUITE(fair_conformance, fair_order);

// One more waiter in the queue: returns when it stands there.
class waiter {
public:
    waiter(place& where, std::vector<int>& served, int number)
        : log_{std::make_shared<chronicle>()}, on_{where.open({.observer = log_})},
          thread_{[this, &served, number] {
              const auto lease = mutex{on_, "counter"}.acquire(in_turn);
              served.push_back(number); // guarded by the lock under test
          }} {
        EXPECT_TRUE(log_->saw(event::kind::waiting, "counter"));
    }

private:
    std::shared_ptr<chronicle> log_;
    client on_;
    std::jthread thread_;
};

[[nodiscard]] std::vector<int> one_to(int last) {
    std::vector<int> numbers(static_cast<std::size_t>(last));
    std::iota(numbers.begin(), numbers.end(), 1);
    return numbers;
}

TEST_P(fair_conformance, clients_are_served_in_the_order_of_asking) {
    std::vector<int> served;
    auto first = mutex{open(), "counter"}.acquire(in_turn);
    {
        std::vector<std::unique_ptr<waiter>> waiters;
        for (int i = 1; i <= 8; ++i)
            waiters.push_back(std::make_unique<waiter>(here(), served, i));
        EXPECT_TRUE(served.empty());
        EXPECT_EQ(first.release(), release_result::released);
    }
    EXPECT_EQ(served, one_to(8));
}

TEST_P(fair_conformance, threads_of_one_client_are_served_in_the_order_of_asking) {
    std::vector<int> served;
    const auto log = std::make_shared<chronicle>();
    const auto client = open({.observer = log});
    auto first = mutex{client, "counter"}.acquire(in_turn);
    {
        std::vector<std::jthread> threads;
        for (int i = 1; i <= 6; ++i) {
            threads.emplace_back([&, i] {
                const auto lease = mutex{client, "counter"}.acquire(in_turn);
                served.push_back(i);
            });
            ASSERT_TRUE(eventually([&] {
                const auto seen = client.inspect("counter");
                return seen.at(0).waiters.size() == static_cast<std::size_t>(i);
            })) << "each has a place of its own in the engine's queue";
        }
        EXPECT_EQ(first.release(), release_result::released);
    }
    EXPECT_EQ(served, one_to(6));
    EXPECT_EQ(log->times(event::kind::passed, "counter"), 0);
}

TEST_P(fair_conformance, whoever_asks_once_does_not_overtake) {
    std::vector<int> served;
    auto first = mutex{open(), "counter"}.acquire(in_turn);
    const waiter second{here(), served, 2};
    auto third = mutex{open(), "counter"};
    EXPECT_FALSE(third.try_acquire(in_turn));
    EXPECT_EQ(first.release(), release_result::released);
    EXPECT_TRUE(third.try_acquire_for(patience, in_turn));
    EXPECT_EQ(served, std::vector{2});
}

TEST_P(fair_conformance, whoever_gives_up_leaves_the_line_and_the_rest_move_up) {
    std::vector<int> served;
    mutex orders{open(), "counter"};
    auto first = orders.acquire(in_turn);
    {
        const waiter second{here(), served, 2};
        EXPECT_FALSE((mutex{open(), "counter"}.try_acquire_for(a_while, in_turn)));
        const waiter fourth{here(), served, 4};
        EXPECT_EQ(first.release(), release_result::released);
    }
    EXPECT_EQ(served, (std::vector{2, 4}));
}

TEST_P(fair_conformance, fair_and_plain_claims_exclude_each_other) {
    const auto client = open();
    mutex orders{client, "counter"};
    const auto lease = orders.acquire(in_turn);
    EXPECT_FALSE(orders.try_acquire());
    EXPECT_FALSE((mutex{open(), "counter"}.try_acquire()));
}

HOLDFAST_SUITE(processes_fair_conformance, fair_order_of_other_processes);

TEST_P(processes_fair_conformance, processes_are_served_in_the_order_of_asking) {
    auto first = mutex{open(), "counter"}.acquire(in_turn);
    std::vector<puppet> line;
    for (int i = 0; i < 5; ++i) {
        line.emplace_back(here()).wants({.name = "counter", .options = in_turn});
        line.back().queued();
    }
    EXPECT_EQ(first.release(), release_result::released);
    for (auto& next : line) {
        (void)next.granted();
        EXPECT_TRUE(next.holds());
        EXPECT_EQ(next.releases(), release_result::released);
    }
}

TEST_P(processes_fair_conformance, a_killed_waiter_is_passed_over) {
    // What a dead waiter's place is worth counts from what the holder's lease had left.
    constexpr acquire_options soon{.ttl = 1s, .order = queueing::fair};
    auto first = mutex{open(), "counter"}.acquire(soon);
    std::vector<puppet> line;
    for (int i = 0; i < 4; ++i) {
        line.emplace_back(here()).wants({.name = "counter", .options = soon});
        line.back().queued();
    }
    line[0].kill();
    line[2].kill();
    EXPECT_EQ(first.release(), release_result::released);
    (void)line[1].granted();
    EXPECT_EQ(line[1].releases(), release_result::released);
    (void)line[3].granted();
}

} // namespace
} // namespace holdfast::conformance
