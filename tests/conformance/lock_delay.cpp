// A lock that was lost is kept back for a while; a lock that was released is free at once.

#include "conformance/engine.hpp"
#include "conformance/events.hpp"
#include "conformance/puppet.hpp"

#include <holdfast/mutex.hpp>

namespace holdfast::conformance {
namespace {

HOLDFAST_SUITE(lock_delay_conformance, lock_delay);

TEST_P(lock_delay_conformance, what_was_lost_is_kept_back) {
    mutex ours{open(), "orders/42"};
    mutex theirs{open(), "orders/42"};
    const auto lost = ours.acquire({.ttl = 300ms, .renew = false, .lock_delay = 700ms});
    const auto deadline = lost.deadline();
    const auto next = theirs.try_acquire_for(patience);
    ASSERT_TRUE(next);
    EXPECT_TRUE(lost.lost());
    EXPECT_GE(boot_clock::now(), deadline + 700ms);
}

TEST_P(lock_delay_conformance, it_does_not_prolong_the_lease_itself) {
    mutex orders{open(), "orders/42"};
    const auto lease = orders.acquire({.ttl = 20s, .lock_delay = 40s});
    EXPECT_LT(lease.deadline(), boot_clock::now() + 20s);
}

TEST_P(lock_delay_conformance, what_was_released_is_free_at_once) {
    mutex ours{open(), "orders/42"};
    mutex theirs{open(), "orders/42"};
    auto lease = ours.acquire({.ttl = 30s, .lock_delay = 10min});
    EXPECT_EQ(lease.release(), release_result::released);
    EXPECT_TRUE(theirs.try_acquire());
}

HOLDFAST_SUITE(processes_lock_delay_conformance, lock_delay_of_other_processes);

TEST_P(processes_lock_delay_conformance, what_a_killed_process_held_is_kept_back) {
    puppet holder{here()};
    mutex ours{open(), "orders/42"};
    (void)holder.acquires({.name = "orders/42", .options = {.ttl = 500ms, .lock_delay = 1s}});
    const auto killed = boot_clock::now();
    holder.kill();
    EXPECT_TRUE(ours.try_acquire_for(patience));
    EXPECT_GE(boot_clock::now() - killed, 1s);
}

TEST_P(processes_lock_delay_conformance, what_a_process_gave_back_is_free_at_once) {
    puppet holder{here()};
    mutex ours{open(), "orders/42"};
    (void)holder.acquires({.name = "orders/42", .options = {.lock_delay = 10min}});
    EXPECT_EQ(holder.leaves(), 0);
    EXPECT_TRUE(ours.try_acquire());
}

} // namespace
} // namespace holdfast::conformance
