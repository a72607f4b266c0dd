// The words of the standard library work: its locks, its algorithms, its condition variable.

#include "conformance/engine.hpp"
#include "conformance/events.hpp"

#include <holdfast/mutex.hpp>
#include <holdfast/recursive_mutex.hpp>
#include <holdfast/semaphore.hpp>
#include <holdfast/shared_mutex.hpp>

#include <concepts>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace holdfast::conformance {
namespace {

using steady_time = std::chrono::steady_clock::time_point;
using system_time = std::chrono::system_clock::time_point;

template <class M>
concept basic_lockable = requires(M m) {
    { m.lock() } -> std::same_as<void>;
    { m.unlock() }
    noexcept->std::same_as<void>;
};

template <class M>
concept lockable = basic_lockable<M> && requires(M m) {
    { m.try_lock() } -> std::same_as<bool>;
};

template <class M>
concept timed_lockable = lockable<M> && requires(M m, steady_time steady, system_time system) {
    { m.try_lock_for(1ms) } -> std::same_as<bool>;
    { m.try_lock_for(1.5h) } -> std::same_as<bool>;
    { m.try_lock_until(steady) } -> std::same_as<bool>;
    { m.try_lock_until(system) } -> std::same_as<bool>;
    { m.try_lock_until(instant{}) } -> std::same_as<bool>;
};

template <class M>
concept shared_timed_lockable = timed_lockable<M> && requires(M m, steady_time steady) {
    { m.lock_shared() } -> std::same_as<void>;
    { m.try_lock_shared() } -> std::same_as<bool>;
    { m.unlock_shared() }
    noexcept->std::same_as<void>;
    { m.try_lock_shared_for(1ms) } -> std::same_as<bool>;
    { m.try_lock_shared_until(steady) } -> std::same_as<bool>;
};

static_assert(timed_lockable<mutex>);
static_assert(timed_lockable<recursive_mutex>);
static_assert(shared_timed_lockable<shared_mutex>);
static_assert(!lockable<semaphore>, "a permit has no name for its holder to unlock");

static_assert(std::is_nothrow_move_constructible_v<lease> && !std::is_copy_constructible_v<lease>);
static_assert(std::is_nothrow_move_assignable_v<lease> && !std::is_copy_assignable_v<lease>);
static_assert(std::is_nothrow_default_constructible_v<lease>);
static_assert(std::is_move_constructible_v<mutex> && std::is_move_constructible_v<recursive_mutex>);
static_assert(std::is_move_constructible_v<shared_mutex> &&
              std::is_move_constructible_v<semaphore>);
static_assert(std::copyable<client>);
static_assert(std::derived_from<error, std::system_error>);
static_assert(std::three_way_comparable<fence>);
static_assert(std::chrono::is_clock_v<boot_clock> && boot_clock::is_steady);

HOLDFAST_SUITE(std_conformance, nothing);

TEST_P(std_conformance, a_scoped_lock_holds_until_its_end) {
    const auto client = open();
    mutex orders{client, "orders/42"};
    mutex theirs{open(), "orders/42"};
    {
        const std::scoped_lock hold{orders};
        EXPECT_TRUE(orders.held_lease().held());
        EXPECT_FALSE(theirs.try_lock());
    }
    ASSERT_TRUE(theirs.try_lock_for(patience));
    theirs.unlock();
}

TEST_P(std_conformance, locking_twice_on_one_thread_is_refused_at_once) {
    const auto client = open();
    mutex orders{client, "orders/42"};
    mutex same_name{client, "orders/42"};
    const std::scoped_lock hold{orders};
    EXPECT_EQ(error_of([&] { orders.lock(); }), deadlock());
    EXPECT_EQ(error_of([&] { same_name.lock(); }), deadlock());
    EXPECT_TRUE(orders.held_lease().held());
    auto elsewhere = in_a_thread([&] { return same_name.try_lock_for(a_while); });
    EXPECT_FALSE(outcome(elsewhere)) << "another thread just waits";
}

TEST_P(std_conformance, the_held_lease_of_a_lock_tells_its_fence_and_deadline) {
    mutex orders{open(), "orders/42"};
    EXPECT_FALSE(orders.held_lease());
    {
        const std::scoped_lock hold{orders};
        EXPECT_EQ(orders.held_lease().name(), "orders/42");
        EXPECT_GT(orders.held_lease().deadline(), boot_clock::now());
    }
    EXPECT_FALSE(orders.held_lease().held());
}

// The lease of the first thread is taken away, the second one locks; then the first one unlocks.
TEST_P(std_conformance, unlocking_what_was_lost_takes_nothing_from_the_next_thread) {
    mutex orders{open(), "orders/42"};
    const auto other = open();
    happening locked, may_unlock;
    orders.lock();
    EXPECT_EQ(other.force_release("orders/42"), 1U);
    auto next = in_a_thread([&] {
        const std::scoped_lock hold{orders};
        locked.happen();
        EXPECT_TRUE(may_unlock.awaited());
        return orders.held_lease().held();
    });
    ASSERT_TRUE(locked.awaited());
    EXPECT_FALSE(orders.held_lease().held()) << "each thread sees its own";
    orders.unlock();
    EXPECT_FALSE((mutex{other, "orders/42"}.try_acquire()))
        << "the second thread is still in there";
    may_unlock.happen();
    EXPECT_TRUE(outcome(next));
    EXPECT_TRUE((mutex{other, "orders/42"}.try_acquire_for(patience)));
}

TEST_P(std_conformance, a_unique_lock_can_wait_for_a_time) {
    mutex ours{open(), "orders/42"};
    mutex theirs{open(), "orders/42"};
    std::unique_lock hold{ours};
    {
        const std::unique_lock waiting{theirs, a_while};
        EXPECT_FALSE(waiting.owns_lock());
    }
    {
        const std::unique_lock waiting{theirs, std::chrono::steady_clock::now() + a_while};
        EXPECT_FALSE(waiting.owns_lock());
    }
    {
        const std::unique_lock late{theirs, std::chrono::system_clock::now() - 1h};
        EXPECT_FALSE(late.owns_lock()) << "a time that has passed asks once";
    }
    hold.unlock();
    const std::unique_lock waiting{theirs, std::chrono::system_clock::now() + patience};
    EXPECT_TRUE(waiting.owns_lock());
}

TEST_P(std_conformance, a_unique_lock_can_try_defer_and_move) {
    const auto client = open();
    mutex orders{client, "orders/42"};
    std::unique_lock later{orders, std::defer_lock};
    EXPECT_FALSE(later.owns_lock());
    EXPECT_TRUE(later.try_lock());
    auto moved = std::move(later);
    EXPECT_TRUE(moved.owns_lock());
    moved.unlock();
    const std::unique_lock at_once{orders, std::try_to_lock};
    EXPECT_TRUE(at_once.owns_lock());
}

TEST_P(std_conformance, a_wait_too_long_to_count_is_for_ever) {
    mutex orders{open(), "orders/42"};
    ASSERT_TRUE(orders.try_lock_for(std::chrono::hours::max()));
    orders.unlock();
    ASSERT_TRUE(orders.try_lock_until(std::chrono::steady_clock::time_point::max()));
    orders.unlock();
    ASSERT_TRUE(orders.try_lock_until(std::chrono::system_clock::time_point::max()));
    orders.unlock();
    EXPECT_TRUE(orders.try_acquire_for(duration::max()));
}

TEST_P(std_conformance, a_time_too_long_ago_to_count_asks_once) {
    mutex orders{open(), "orders/42"};
    ASSERT_TRUE(orders.try_lock_for(std::chrono::hours::min()));
    orders.unlock();
    ASSERT_TRUE(orders.try_lock_until(std::chrono::steady_clock::time_point::min()));
    orders.unlock();
    EXPECT_TRUE(orders.try_acquire_for(duration::min()));
}

// Two names taken in opposite orders by many threads, of one client and of two.
TEST_P(std_conformance, scoped_locks_over_two_names_never_deadlock) {
    const auto one = open();
    const auto two = open();
    int left = 0, right = 0;
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 6; ++t)
            threads.emplace_back([&, t] {
                const auto& client = t % 3 == 0 ? two : one;
                mutex a{client, "left"}, b{client, "right"};
                for (int i = 0; i < 25; ++i) {
                    const auto both = t % 2 == 0 ? std::scoped_lock{a, b} : std::scoped_lock{b, a};
                    ++left;
                    ++right;
                }
            });
    }
    EXPECT_EQ(left, 150);
    EXPECT_EQ(right, 150);
}

TEST_P(std_conformance, std_lock_takes_several_and_std_try_lock_says_which_it_missed) {
    const auto client = open();
    mutex first{client, "first"}, second{client, "second"}, third{client, "third"};
    std::lock(first, second, third);
    EXPECT_TRUE(first.held_lease().held() && second.held_lease().held() &&
                third.held_lease().held());
    second.unlock();
    first.unlock();
    third.unlock();

    auto taken = mutex{open(), "second"}.acquire({.wait = patience});
    EXPECT_EQ(std::try_lock(first, second, third), 1);
    EXPECT_FALSE(first.held_lease().held()) << "all or nothing";
    EXPECT_EQ(taken.release(), release_result::released);
    EXPECT_EQ(std::try_lock(first, second, third), -1);
    first.unlock();
    second.unlock();
    third.unlock();
}

TEST_P(std_conformance, a_condition_variable_any_gives_the_lock_away_while_it_waits) {
    const auto client = open();
    mutex door{client, "door"};
    std::condition_variable_any changed;
    int stage = 0;
    auto partner = in_a_thread([&] {
        mutex same{client, "door"};
        std::unique_lock hold{same};
        const bool seen = changed.wait_for(hold, patience, [&] { return stage == 1; });
        stage = 2;
        changed.notify_all();
        return seen;
    });
    {
        std::unique_lock hold{door};
        stage = 1;
        changed.notify_all();
        EXPECT_TRUE(changed.wait_for(hold, patience, [&] { return stage == 2; }));
        EXPECT_TRUE(hold.owns_lock());
    }
    EXPECT_TRUE(outcome(partner));
}

HOLDFAST_SUITE(std_shared_conformance, shared_locks);

TEST_P(std_shared_conformance, shared_locks_stand_side_by_side_and_keep_writers_out) {
    shared_mutex ours{open(), "page"};
    shared_mutex theirs{open(), "page"};
    {
        const std::shared_lock reading{ours};
        const std::shared_lock also{theirs, 10s};
        EXPECT_TRUE(also.owns_lock());
        shared_mutex writer{open(), "page"};
        const std::unique_lock writing{writer, a_while};
        EXPECT_FALSE(writing.owns_lock());
    }
    const std::unique_lock writing{theirs, patience};
    ASSERT_TRUE(writing.owns_lock());
    const std::shared_lock late{ours, a_while};
    EXPECT_FALSE(late.owns_lock());
}

TEST_P(std_shared_conformance, a_scoped_lock_of_a_shared_mutex_is_exclusive) {
    shared_mutex ours{open(), "page"};
    shared_mutex theirs{open(), "page"};
    const std::scoped_lock writing{ours};
    EXPECT_FALSE(theirs.try_lock_shared());
    EXPECT_FALSE(theirs.try_lock());
}

TEST_P(std_shared_conformance, threads_may_share_one_object) {
    shared_mutex page{open(), "page"};
    int written = 0;
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t)
            threads.emplace_back([&, t] {
                for (int i = 0; i < 30; ++i) {
                    if (t == 0) {
                        const std::scoped_lock writing{page};
                        ++written;
                    } else {
                        const std::shared_lock reading{page};
                        EXPECT_LE(written, 30);
                    }
                }
            });
    }
    EXPECT_EQ(written, 30);
}

} // namespace
} // namespace holdfast::conformance
