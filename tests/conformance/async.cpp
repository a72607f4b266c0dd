// The asynchronous face: one function for callbacks, futures and coroutines, and what happens when
// nobody wants the answer any more.

#include "conformance/engine.hpp"
#include "conformance/events.hpp"
#include "promise.hpp"

#include <holdfast/async.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>

#include <atomic>
#include <future>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::conformance {
namespace {

namespace asio = boost::asio;

HOLDFAST_SUITE(async_conformance, nothing);

constexpr auto long_ttl = 10min; // much longer than our patience: nothing ends by itself

// Runs until nothing is left to do; a coroutine's exception fails the test.
template <class Coroutine> void run(Coroutine coroutine) {
    asio::io_context io;
    auto done = asio::co_spawn(io, std::move(coroutine), asio::use_future);
    io.run_for(patience);
    ASSERT_EQ(done.wait_for(0s), std::future_status::ready) << "it never ended";
    done.get();
}

// ------------------------------------------------------------------------------- completion tokens

TEST_P(async_conformance, a_callback_is_called_on_its_executor_and_never_at_once) {
    mutex orders{open(), "orders/42"};
    asio::io_context io;
    std::optional<lease> got;
    std::thread::id called_on;
    orders.async_acquire({}, asio::bind_executor(io, [&](error_code ec, lease l) {
                             EXPECT_FALSE(ec) << ec.message();
                             got = std::move(l);
                             called_on = std::this_thread::get_id();
                         }));
    EXPECT_FALSE(got) << "not inside the initiating call";
    io.run_for(patience); // an operation that has not ended keeps it running
    ASSERT_TRUE(got);
    EXPECT_TRUE(got->held());
    EXPECT_EQ(called_on, std::this_thread::get_id());
    EXPECT_FALSE(orders.try_acquire());
}

TEST_P(async_conformance, a_callback_without_an_executor_is_called_on_the_clients_lane) {
    mutex orders{open(), "orders/42"};
    std::promise<std::pair<lease, std::thread::id>> got;
    orders.async_acquire({}, [&](error_code ec, lease l) {
        EXPECT_FALSE(ec) << ec.message();
        got.set_value({std::move(l), std::this_thread::get_id()});
    });
    auto future = got.get_future();
    const auto [held, thread] = outcome(future);
    EXPECT_TRUE(held.held());
    EXPECT_NE(thread, std::this_thread::get_id());
}

TEST_P(async_conformance, a_callback_is_never_called_inside_the_call_that_failed) {
    mutex orders{open(), "orders/42"};
    asio::io_context io;
    error_code heard;
    orders.async_acquire({.ttl = -1s}, asio::bind_executor(io, [&](error_code ec, const lease& l) {
                             heard = ec;
                             EXPECT_FALSE(l);
                         }));
    EXPECT_FALSE(heard);
    io.run_for(patience);
    EXPECT_EQ(heard, errc::bad_option);
}

TEST_P(async_conformance, a_future_gets_the_lease_or_the_error) {
    mutex orders{open(), "orders/42"};
    auto first = orders.async_acquire({}, asio::use_future);
    const auto held = outcome(first);
    EXPECT_TRUE(held.held());
    auto second = orders.async_acquire({.wait = a_while}, asio::use_future);
    EXPECT_EQ(error_in(second), errc::timed_out);
    auto third = orders.async_acquire({.wait = 0s}, asio::use_future);
    EXPECT_EQ(error_in(third), errc::timed_out) << "asked once, and contended";
}

asio::awaitable<void> acquires_and_releases(client on) {
    mutex orders{on, "orders/42"};
    auto held = co_await orders.async_acquire({.ttl = 10s}, asio::use_awaitable);
    EXPECT_TRUE(held.held());
    EXPECT_FALSE(orders.try_acquire());
    const auto result = co_await held.async_release(asio::use_awaitable);
    EXPECT_EQ(result, release_result::released);
    EXPECT_FALSE(held.held());
    auto again = co_await orders.async_acquire({.wait = 5s, .ttl = 10s});
    EXPECT_TRUE(again.held()) << "without a token, too";
}

TEST_P(async_conformance, a_coroutine_awaits_the_lease_and_its_release) {
    run(acquires_and_releases(open()));
}

asio::awaitable<void> sees_errors(client on, mutex& held_elsewhere) {
    bool thrown = false;
    try {
        (void)co_await held_elsewhere.async_acquire({.wait = a_while}, asio::use_awaitable);
    } catch (const boost::system::system_error& e) {
        thrown = e.code() == errc::timed_out;
    }
    EXPECT_TRUE(thrown);

    const auto [error, nothing] = co_await held_elsewhere.async_acquire(
        {.wait = a_while}, asio::as_tuple(asio::use_awaitable));
    EXPECT_EQ(error, errc::timed_out);
    EXPECT_FALSE(nothing);

    const auto contended = co_await held_elsewhere.async_try_acquire({}, asio::use_awaitable);
    EXPECT_FALSE(contended) << "an ordinary answer";
    const auto still =
        co_await held_elsewhere.async_try_acquire_for(a_while, {}, asio::use_awaitable);
    EXPECT_FALSE(still);

    mutex free{on, "free"};
    const auto got = co_await free.async_try_acquire({}, asio::use_awaitable);
    EXPECT_TRUE(got && got->held());
}

TEST_P(async_conformance, contended_is_an_answer_and_timed_out_an_error) {
    const auto held = mutex{open(), "orders/42"}.acquire();
    const auto client = open();
    mutex orders{client, "orders/42"};
    run(sees_errors(client, orders));
}

TEST_P(async_conformance, a_deferred_operation_begins_when_it_is_called) {
    mutex orders{open(), "orders/42"};
    auto later = orders.async_acquire({.ttl = 10s});
    {
        auto now = orders.try_acquire();
        ASSERT_TRUE(now) << "nothing has begun";
        EXPECT_EQ(now->release(), release_result::released);
    }
    auto future = std::move(later)(asio::use_future);
    EXPECT_TRUE(outcome(future).held());
}

TEST_P(async_conformance, an_operation_outlives_its_primitive_and_its_client) {
    const auto log = std::make_shared<chronicle>();
    auto held = mutex{open(), "orders/42"}.acquire();
    std::future<lease> future;
    {
        mutex orders{open({.observer = log}), "orders/42"};
        future = orders.async_acquire({}, asio::use_future);
    }
    ASSERT_TRUE(log->saw(event::kind::waiting, "orders/42"));
    EXPECT_EQ(held.release(), release_result::released);
    EXPECT_TRUE(outcome(future).held());
}

TEST_P(async_conformance, a_release_tells_what_became_of_it) {
    const auto client = open();
    auto lease = mutex{client, "orders/42"}.acquire({.ttl = long_ttl});
    EXPECT_EQ(client.force_release("orders/42"), 1U);
    auto lost = lease.async_release(asio::use_future);
    EXPECT_EQ(outcome(lost), release_result::lost);
    EXPECT_FALSE(lease.held());
}

TEST_P(async_conformance, an_operator_asks_asynchronously_too) {
    const auto client = open();
    const auto held = mutex{client, "orders/42"}.acquire({.ttl = long_ttl});
    auto seen = client.async_inspect("orders/*", asio::use_future);
    const auto locks = outcome(seen);
    ASSERT_EQ(locks.size(), 1U);
    EXPECT_EQ(locks[0].holders.at(0).fence, held.fence());
    auto forced = client.async_force_release("orders/42", asio::use_future);
    EXPECT_EQ(outcome(forced), 1U);
    auto none = client.async_force_release("orders/42", asio::use_future);
    EXPECT_EQ(outcome(none), 0U);
    auto health = client.async_examine(asio::use_future);
    EXPECT_FALSE(outcome(health).empty());
}

TEST_P(async_conformance, closing_gives_back_what_was_held_and_ends_who_waits) {
    const auto client = open(), other = open();
    const auto held = mutex{client, "orders/1"}.acquire({.ttl = long_ttl});
    const auto theirs = mutex{other, "orders/2"}.acquire({.ttl = long_ttl});
    auto waiting = mutex{client, "orders/2"}.async_acquire({}, asio::use_future);
    auto closed = client.async_close(patience, asio::use_future);
    outcome(closed);
    EXPECT_EQ(error_in(waiting), asio::error::operation_aborted);
    EXPECT_FALSE(held.held());
    EXPECT_TRUE(mutex(other, "orders/1").try_acquire());
    EXPECT_EQ(error_of([&] {
                  (void)mutex{client, "orders/1"}.acquire();
              }),
              code(errc::unsupported));
    auto again = client.async_close(patience, asio::use_future);
    outcome(again); // nothing is left to do
}

TEST_P(async_conformance, a_contended_try_is_an_answer_and_no_error) {
    const auto client = open();
    recursive_mutex tree{client, "tree"};
    constexpr auto us = owner_id{7}, them = owner_id{8};
    auto first = tree.async_try_acquire(us, {}, asio::use_future);
    const auto held = outcome(first);
    ASSERT_TRUE(held);
    auto refused = tree.async_try_acquire_for(them, 20ms, {}, asio::use_future);
    EXPECT_FALSE(outcome(refused));
}

TEST_P(async_conformance, an_owner_enters_again_and_others_wait) {
    const auto client = open();
    recursive_mutex tree{client, "tree"};
    constexpr auto us = owner_id{7}, them = owner_id{8};
    auto first = tree.async_acquire(us, {}, asio::use_future);
    auto outer = outcome(first);
    auto second = tree.async_acquire(us, {}, asio::use_future);
    auto inner = outcome(second);
    EXPECT_EQ(inner.fence(), outer.fence());
    auto refused = tree.async_acquire(them, {.wait = a_while}, asio::use_future);
    EXPECT_EQ(error_in(refused), errc::timed_out);
    EXPECT_EQ(outer.release(), release_result::released);
    EXPECT_TRUE(inner.held());
    EXPECT_EQ(inner.release(), release_result::released);
    auto third = tree.async_acquire(them, {.wait = patience}, asio::use_future);
    EXPECT_TRUE(outcome(third).held());
}

TEST_P(async_conformance, work_inside_a_handler_is_stopped_like_any_other) {
    const auto client = open();
    happening stopped;
    mutex{client, "orders/42"}.async_acquire(
        {.ttl = 400ms, .renew = false}, [&](error_code ec, const lease& held) {
            if (ec)
                return;
            const auto stop = held.stop_token();
            const auto by = boot_clock::now() + patience;
            while (!stop.stop_requested() && boot_clock::now() < by)
                std::this_thread::yield();
            if (stop.stop_requested())
                stopped.happen();
        });
    EXPECT_TRUE(stopped.awaited()) << "it stood in its own way";
}

TEST_P(async_conformance, bad_names_are_refused_as_in_the_blocking_calls) {
    const auto client = open();
    EXPECT_EQ(error_of([&] { (void)client.async_force_release("", asio::use_future); }),
              code(errc::bad_name));
}

HOLDFAST_SUITE(async_shared_conformance, shared_locks);

TEST_P(async_shared_conformance, readers_and_writers_exclude_each_other) {
    shared_mutex page{open(), "page"};
    auto one = page.async_acquire_shared({}, asio::use_future);
    auto two = page.async_acquire_shared({}, asio::use_future);
    auto first = outcome(one), second = outcome(two);
    EXPECT_TRUE(first.held() && second.held());
    auto refused = page.async_acquire({.wait = a_while}, asio::use_future);
    EXPECT_EQ(error_in(refused), errc::timed_out);
    auto no_writer = page.async_try_acquire({}, asio::use_future);
    EXPECT_FALSE(outcome(no_writer));
    auto reader = page.async_try_acquire_shared_for(patience, {}, asio::use_future);
    EXPECT_TRUE(outcome(reader));
    first = {};
    second = {};
    auto writer = page.async_acquire({.wait = patience}, asio::use_future);
    EXPECT_TRUE(outcome(writer).held());
}

HOLDFAST_SUITE(async_permits_conformance, permits);

TEST_P(async_permits_conformance, permits_are_counted) {
    semaphore seats{open(), "seats", 2};
    auto one = seats.async_acquire({}, asio::use_future);
    auto two = seats.async_acquire({}, asio::use_future);
    const auto first = outcome(one), second = outcome(two);
    EXPECT_TRUE(first.held() && second.held());
    auto third = seats.async_acquire({.wait = a_while}, asio::use_future);
    EXPECT_EQ(error_in(third), errc::timed_out);
    auto fourth = seats.async_try_acquire({}, asio::use_future);
    EXPECT_FALSE(outcome(fourth));
}

// ------------------------------------------------------------------------------------ many at once

asio::awaitable<void> counts(client on, int& counter, int rounds) {
    mutex door{on, "counter"};
    for (int i = 0; i < rounds; ++i) {
        const auto held = co_await door.async_acquire({}, asio::use_awaitable);
        const int seen = counter;
        co_await asio::post(asio::use_awaitable); // others run while we hold it
        counter = seen + 1;
    }
}

TEST_P(async_conformance, coroutines_exclude_each_other) {
    const auto client = open();
    const auto other = open();
    asio::io_context io;
    int counter = 0, ended = 0;
    for (int i = 0; i < 20; ++i)
        asio::co_spawn(io,
                       counts(i % 4 == 0 ? other : client, counter, 10),
                       [&](const std::exception_ptr& failed) { ended += failed ? 0 : 1; });
    io.run_for(patience);
    ASSERT_EQ(ended, 20);
    EXPECT_EQ(counter, 200) << promise_broken;
}

TEST_P(async_conformance, hundreds_wait_without_a_thread_each) {
    const auto client = open();
    asio::io_context io;
    int served = 0;
    auto first = mutex{client, "orders/42"}.acquire();
    for (int i = 0; i < 300; ++i)
        mutex{client, "orders/42"}.async_acquire(
            {}, asio::bind_executor(io, [&](error_code ec, const lease& l) {
                served += !ec && l.held() ? 1 : 0;
            }));
    EXPECT_EQ(first.release(), release_result::released);
    io.run_for(patience);
    EXPECT_EQ(served, 300);
}

TEST_P(async_conformance, a_handler_of_on_lost_may_ask_again) {
    const auto client = open();
    std::promise<lease> again;
    auto held = mutex{client, "orders/42"}.acquire({.ttl = 300ms, .renew = false});
    held.on_lost([&] {
        mutex{client, "orders/42"}.async_acquire(
            {}, [&](error_code, lease l) { again.set_value(std::move(l)); });
    });
    auto future = again.get_future();
    EXPECT_TRUE(outcome(future).held());
}

// ---------------------------------------------------------------------------------- cancellation

TEST_P(async_conformance, a_cancelled_wait_ends_and_leaves_the_line) {
    const auto other = open();
    auto held = mutex{other, "orders/42"}.acquire();
    const auto log = std::make_shared<chronicle>();
    const auto client = open({.observer = log});
    asio::io_context io;
    asio::cancellation_signal stop;
    error_code heard;
    mutex{client, "orders/42"}.async_acquire(
        {},
        asio::bind_cancellation_slot(stop.slot(),
                                     asio::bind_executor(io, [&](error_code ec, const lease& l) {
                                         heard = ec;
                                         EXPECT_FALSE(l);
                                     })));
    ASSERT_TRUE(log->saw(event::kind::waiting, "orders/42"));
    stop.emit(asio::cancellation_type::terminal);
    io.run_for(patience);
    EXPECT_EQ(heard, asio::error::operation_aborted);
    EXPECT_TRUE(eventually([&] { return other.inspect("orders/42").at(0).waiters.empty(); }));
    stop.emit(asio::cancellation_type::terminal); // harmless afterwards
    EXPECT_TRUE(held.held());
}

TEST_P(async_conformance, total_and_partial_cancellation_end_a_wait_too) {
    const auto held = mutex{open(), "orders/42"}.acquire();
    mutex orders{open(), "orders/42"};
    for (const auto how : {asio::cancellation_type::total, asio::cancellation_type::partial}) {
        asio::cancellation_signal stop;
        auto future =
            orders.async_acquire({}, asio::bind_cancellation_slot(stop.slot(), asio::use_future));
        stop.emit(how);
        EXPECT_EQ(error_in(future), asio::error::operation_aborted);
    }
}

asio::awaitable<void> gives_up_when_the_timer_rings(mutex& orders, bool& rang) {
    using namespace asio::experimental::awaitable_operators;
    asio::steady_timer timer{co_await asio::this_coro::executor, 50ms};
    auto acquired = orders.async_acquire({.ttl = long_ttl}, asio::use_awaitable);
    auto waited = timer.async_wait(asio::use_awaitable);
    const auto first = co_await (std::move(acquired) || std::move(waited));
    rang = first.index() == 1;
}

TEST_P(async_conformance, a_coroutine_can_give_up_when_a_timer_rings) {
    const auto other = open();
    auto held = mutex{other, "orders/42"}.acquire();
    mutex orders{open(), "orders/42"};
    bool rang = false;
    run(gives_up_when_the_timer_rings(orders, rang));
    EXPECT_TRUE(rang);
    EXPECT_EQ(held.release(), release_result::released);
    EXPECT_TRUE((mutex{other, "orders/42"}.try_acquire_for(patience)));
}

TEST_P(async_conformance, closing_the_client_cancels_those_who_wait) {
    const auto held = mutex{open(), "orders/42"}.acquire();
    const auto log = std::make_shared<chronicle>();
    const auto client = open({.observer = log});
    auto future = mutex{client, "orders/42"}.async_acquire({}, asio::use_future);
    ASSERT_TRUE(log->saw(event::kind::waiting, "orders/42"));
    client.close();
    EXPECT_EQ(error_in(future), asio::error::operation_aborted);
    auto late = mutex{client, "orders/42"}.async_acquire({}, asio::use_future);
    EXPECT_EQ(error_in(late), errc::unsupported);
}

// The release that grants it and the signal that cancels it come from two threads at once. Whoever
// wins: afterwards there is a lease that somebody has, or there is none.
TEST_P(async_conformance, a_grant_that_races_with_cancellation_is_not_leaked) {
    const auto client = open();
    const auto other = open();
    int granted = 0, aborted = 0;
    for (int round = 0; round < 60; ++round) {
        auto held = mutex{other, "orders/42"}.acquire({.wait = patience, .ttl = long_ttl});
        asio::io_context io;
        asio::cancellation_signal stop;
        std::optional<lease> got;
        error_code heard;
        mutex{client, "orders/42"}.async_acquire(
            {.ttl = long_ttl},
            asio::bind_cancellation_slot(stop.slot(),
                                         asio::bind_executor(io, [&](error_code ec, lease l) {
                                             heard = ec;
                                             if (l)
                                                 got = std::move(l);
                                         })));
        std::atomic<bool> go{false};
        std::jthread releases{[&] {
            while (!go) {
            }
            held = {};
        }};
        const auto when = boot_clock::now() + round * 10us; // a little later in each round
        go = true;
        while (boot_clock::now() < when) {
        }
        asio::post(io, [&] { stop.emit(asio::cancellation_type::total); });
        io.run_for(patience);
        releases.join();
        ASSERT_TRUE(got || heard == asio::error::operation_aborted) << heard.message();
        EXPECT_FALSE(got && heard);
        ++(got ? granted : aborted);
        got.reset();
        EXPECT_TRUE((mutex{other, "orders/42"}.try_acquire_for(patience, {.ttl = long_ttl})))
            << "in round " << round;
    }
    std::printf("%d granted, %d aborted\n", granted, aborted);
    EXPECT_TRUE(eventually([&] { return other.inspect().empty(); }));
}

// Destroyed unasked, as when a coroutine is torn down: the lease goes with its handler.
TEST_P(async_conformance, a_handler_that_is_destroyed_unasked_leaks_nothing) {
    const auto other = open();
    {
        const auto client = open();
        asio::io_context io;
        mutex{client, "orders/42"}.async_acquire(
            {.ttl = long_ttl}, asio::bind_executor(io, [](error_code, const lease&) {}));
        EXPECT_TRUE(eventually([&] { return !other.inspect("orders/42").empty(); }));
        // Granted; its handler waits in an io_context that nobody runs.
        client.close();
    }
    EXPECT_TRUE((mutex{other, "orders/42"}.try_acquire_for(patience)));
}

} // namespace
} // namespace holdfast::conformance
