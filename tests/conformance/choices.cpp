// What a caller may choose for one acquisition: spinning, a retry policy, requirements; and
// synchronized(), which chooses the name.

#include "conformance/engine.hpp"
#include "conformance/events.hpp"
#include "conformance/faulty_line.hpp"
#include "promise.hpp"

#include <holdfast/metrics.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/semaphore.hpp>
#include <holdfast/synchronized.hpp>

#include <atomic>
#include <thread>
#include <vector>

namespace holdfast::conformance {
namespace {

HOLDFAST_SUITE(choices_conformance, nothing);

constexpr auto long_ttl = 10min;
constexpr acquire_options spinning{.ttl = long_ttl, .waiting = waiting::spin(1ms, 5ms)};

// -------------------------------------------------------------------------------------- spinning

TEST_P(choices_conformance, a_spinning_waiter_takes_no_place_and_gets_the_lock_all_the_same) {
    const auto log = std::make_shared<chronicle>();
    const auto client = open(), other = open({.observer = log});
    auto first = mutex{client, "orders/42"}.acquire({.ttl = long_ttl});
    auto waiter = in_a_thread([&] { return mutex{other, "orders/42"}.acquire(spinning); });
    ASSERT_TRUE(log->saw(event::kind::waiting, "orders/42", 3)) << "it asks, and asks again";
    EXPECT_TRUE(client.inspect("orders/42").at(0).waiters.empty());
    EXPECT_EQ(first.release(), release_result::released);
    EXPECT_TRUE(outcome(waiter).held());
}

TEST_P(choices_conformance, a_spinning_waiter_gives_up_when_its_time_is_over) {
    const auto client = open(), other = open();
    const auto held = mutex{client, "orders/42"}.acquire({.ttl = long_ttl});
    auto impatient = spinning;
    impatient.wait = a_while;
    EXPECT_EQ(error_of([&] {
                  (void)mutex{other, "orders/42"}.acquire(impatient);
              }),
              code(errc::timed_out));
    EXPECT_FALSE((mutex{other, "orders/42"}.try_acquire(spinning)));
}

TEST_P(choices_conformance, spinners_and_others_exclude_each_other) {
    const auto ours = open(), theirs = open();
    std::atomic<int> inside{0}, overlaps{0};
    {
        std::vector<std::jthread> all;
        for (int i = 0; i < 4; ++i)
            all.emplace_back([&, i] {
                mutex door{i % 2 == 0 ? ours : theirs, "door"};
                for (int round = 0; round < 25; ++round) {
                    const auto held =
                        door.acquire(i < 2 ? spinning : acquire_options{.ttl = long_ttl});
                    overlaps += inside++ == 0 ? 0 : 1;
                    --inside;
                }
            });
    }
    EXPECT_EQ(overlaps, 0) << promise_broken;
}

TEST_P(choices_conformance, spinning_that_makes_no_sense_is_refused) {
    mutex door{open(), "door"};
    for (const auto& wrong :
         {acquire_options{.waiting = waiting::spin(0s)},
          acquire_options{.waiting = waiting::spin(-1s, 1s)},
          acquire_options{.waiting = waiting::spin(2ms, 1ms)},
          acquire_options{.order = queueing::fair, .waiting = waiting::spin()},
          acquire_options{.waiting = waiting::spin(), .require = guarantee::fair}})
        EXPECT_EQ(error_of([&] { (void)door.acquire(wrong); }), code(errc::bad_option));
}

// -------------------------------------------------------------------------------- retry policies

TEST_P(choices_conformance, a_policy_ends_the_wait_for_an_engine_that_is_away) {
    const auto line = std::make_shared<fault_switch>();
    const client cut{std::make_unique<faulty_line>(here().connect(), line), {}};
    mutex door{cut, "door"};
    line->set(fault::away);
    EXPECT_EQ(error_of([&] { (void)door.acquire({.retry = retry::times(3, 1ms)}); }),
              code(errc::backend_unavailable));
    EXPECT_EQ(error_of([&] { (void)door.try_acquire({.retry = retry::exponential(1ms, 3)}); }),
              code(errc::backend_unavailable));
    line->set(fault::none);
    EXPECT_TRUE(door.acquire({.retry = retry::once(1ms)}).held());
}

TEST_P(choices_conformance, a_policy_lets_even_a_try_outlast_an_outage) {
    const auto line = std::make_shared<fault_switch>();
    const client cut{std::make_unique<faulty_line>(here().connect(), line), {}};
    line->set(fault::away);
    auto trying = in_a_thread([&] {
        return mutex{cut, "door"}.try_acquire({.retry = retry::forever(2ms)});
    });
    EXPECT_EQ(trying.wait_for(30ms), std::future_status::timeout);
    line->set(fault::none);
    EXPECT_TRUE(outcome(trying));
}

// ---------------------------------------------------------------------------------- requirements

TEST_P(choices_conformance, what_an_engine_gives_may_be_required_and_what_not_is_refused) {
    const auto client = open();
    const auto& able = client.capabilities();
    for (const auto wanted : {guarantee::fence,
                              guarantee::survives_restart,
                              guarantee::survives_clock_jump,
                              guarantee::fair,
                              guarantee::survives_death}) {
        const auto reason = what_is_missing(able, wanted);
        const auto expected = reason.empty() ? std::error_code{} : code(errc::unsupported);
        EXPECT_EQ(error_of([&] { client.require(wanted); }), expected) << reason;
        EXPECT_EQ(error_of([&] {
                      (void)mutex{client, "door"}.acquire({.require = wanted});
                  }),
                  expected)
            << reason;
        try {
            client.require(wanted);
        } catch (const error& e) {
            EXPECT_EQ(e.what(), reason) << "the reason is the sentence";
        }
    }
}

// ---------------------------------------------------------------------------------- synchronized

int under_the_name_of_this_function(const client& on) {
    return synchronized(on, [&] { return static_cast<int>(on.inspect("*").size()); });
}

TEST_P(choices_conformance, synchronized_runs_while_holding_and_returns_what_it_returns) {
    const auto client = open(), other = open();
    const int twice = synchronized(client, "nightly", [&](const lease& held) {
        EXPECT_TRUE(held.held());
        EXPECT_EQ(held.name(), "nightly");
        EXPECT_FALSE((mutex{other, "nightly"}.try_acquire()));
        return 42;
    });
    EXPECT_EQ(twice, 42);
    EXPECT_TRUE((mutex{other, "nightly"}.try_acquire_for(patience)));
    EXPECT_EQ(error_of([&] {
                  synchronized(client, "nightly", [] { throw error{errc::lost, "by itself"}; });
              }),
              code(errc::lost));
    EXPECT_TRUE((mutex{other, "nightly"}.try_acquire_for(patience))) << "given back all the same";
}

TEST_P(choices_conformance, synchronized_takes_its_name_from_where_it_is_written) {
    const auto client = open();
    EXPECT_EQ(under_the_name_of_this_function(client), 1);
    synchronized(client, [&](const lease& held) {
        EXPECT_TRUE(held.name().starts_with("choices.cpp: ")) << held.name();
        EXPECT_EQ(under_the_name_of_this_function(client), 2) << "another function, another lock";
    });
}

// --------------------------------------------------------------------------------------- metrics

TEST_P(choices_conformance, metrics_count_what_happens) {
    const auto seen = std::make_shared<metrics>();
    {
        const auto client = open({.observer = seen});
        for (int i = 0; i < 10; ++i)
            EXPECT_EQ((mutex{client, "door"}.acquire().release()), release_result::released);
    }
    EXPECT_EQ(seen->count(event::kind::granted), 10U);
    EXPECT_EQ(seen->count(event::kind::released), 10U);
    EXPECT_EQ(seen->wait.count(), 10U);
    EXPECT_EQ(seen->hold.count(), 10U);
    EXPECT_EQ(seen->count(event::kind::lost), 0U);
}

TEST_P(choices_conformance, a_hand_over_is_measured_where_the_engine_pushes) {
    const auto seen = std::make_shared<metrics>();
    const auto client = open(), other = open({.observer = seen});
    if (client.capabilities().wake != wake_by::grant)
        return; // nobody is told when it decided
    auto first = mutex{client, "door"}.acquire({.ttl = long_ttl});
    auto waiter = in_a_thread([&] { return mutex{other, "door"}.acquire({.ttl = long_ttl}); });
    ASSERT_TRUE(eventually([&] { return seen->count(event::kind::waiting) > 0; }));
    EXPECT_EQ(first.release(), release_result::released);
    EXPECT_TRUE(outcome(waiter).held());
    EXPECT_TRUE(eventually([&] { return seen->hand_off.count() == 1; }));
    EXPECT_LT(seen->hand_off.quantile(1), patience) << "counted from the decision, no earlier";
}

TEST_P(choices_conformance, each_renewal_is_told_with_what_was_left) {
    const auto seen = std::make_shared<metrics>();
    const auto client = open({.observer = seen});
    const auto held = mutex{client, "door"}.acquire({.ttl = 3s});
    EXPECT_TRUE(eventually([&] { return seen->renewal_slack.count() >= 3; }));
    const auto most = promises().ttl == ttl_scope::session ? 1h : 4s; // it has a time of its own
    EXPECT_LE(seen->renewal_slack.quantile(1), most);
    EXPECT_TRUE(held.held());
}

} // namespace
} // namespace holdfast::conformance
