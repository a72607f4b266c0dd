// A lock that its holder may take again.

#include "conformance/engine.hpp"
#include "conformance/events.hpp"
#include "promise.hpp"

#include <holdfast/recursive_mutex.hpp>

#include <mutex>
#include <thread>
#include <vector>

namespace holdfast::conformance {
namespace {

HOLDFAST_SUITE(recursive_conformance, nothing);

TEST_P(recursive_conformance, its_thread_takes_it_again_and_gives_it_back_with_the_last) {
    recursive_mutex ours{open(), "tree"};
    recursive_mutex theirs{open(), "tree"};
    ours.lock();
    ours.lock();
    EXPECT_TRUE(ours.try_lock());
    EXPECT_TRUE(ours.try_lock_for(1s));
    EXPECT_FALSE(theirs.try_lock());
    ours.unlock();
    ours.unlock();
    ours.unlock();
    EXPECT_FALSE(theirs.try_lock()) << "one is left";
    ours.unlock();
    ASSERT_TRUE(theirs.try_lock_for(patience));
    theirs.unlock();
}

TEST_P(recursive_conformance, leases_of_one_thread_have_the_same_fence_and_end_with_the_last) {
    const auto client = open();
    recursive_mutex tree{client, "tree"};
    recursive_mutex same{client, "tree"};
    recursive_mutex theirs{open(), "tree"};
    auto outer = tree.acquire();
    auto inner = same.try_acquire();
    ASSERT_TRUE(inner) << "also through another object";
    EXPECT_EQ(inner->fence(), outer.fence());
    EXPECT_EQ(outer.release(), release_result::released);
    EXPECT_TRUE(inner->held()) << "whichever goes first";
    EXPECT_FALSE(theirs.try_acquire());
    EXPECT_EQ(inner->release(), release_result::released);
    EXPECT_FALSE(inner->held());
    EXPECT_TRUE(theirs.try_acquire());
}

TEST_P(recursive_conformance, the_std_face_and_leases_of_one_thread_go_together) {
    const auto client = open();
    recursive_mutex tree{client, "tree"};
    recursive_mutex theirs{open(), "tree"};
    {
        const std::scoped_lock outer{tree};
        const auto inner = tree.try_acquire();
        EXPECT_TRUE(inner);
        const std::scoped_lock innermost{tree};
        EXPECT_FALSE(theirs.try_lock());
    }
    EXPECT_TRUE(theirs.try_acquire_for(patience));
}

TEST_P(recursive_conformance, another_thread_of_the_same_client_is_kept_out) {
    recursive_mutex tree{open(), "tree"};
    tree.lock();
    auto other = in_a_thread([&] { return tree.try_acquire_for(a_while).has_value(); });
    EXPECT_FALSE(outcome(other));
    tree.unlock();
    auto later = in_a_thread([&] { return tree.try_acquire_for(patience).has_value(); });
    EXPECT_TRUE(outcome(later));
}

TEST_P(recursive_conformance, a_lost_lease_is_lost_at_every_depth) {
    recursive_mutex tree{open(), "tree"};
    happening lost;
    auto outer = tree.acquire({.ttl = 300ms, .renew = false});
    auto inner = tree.acquire({.ttl = 300ms, .renew = false});
    inner.on_lost([&] { lost.happen(); });
    ASSERT_TRUE(lost.awaited());
    EXPECT_TRUE(outer.lost());
    EXPECT_TRUE(inner.lost());
    EXPECT_EQ(inner.release(), release_result::lost);
    EXPECT_EQ(outer.release(), release_result::lost);
    EXPECT_TRUE(tree.try_acquire_for(patience));
}

TEST_P(recursive_conformance, threads_exclude_each_other_at_every_depth) {
    recursive_mutex tree{open(), "tree"};
    int counter = 0;
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t)
            threads.emplace_back([&] {
                for (int i = 0; i < 50; ++i) {
                    const std::scoped_lock outer{tree};
                    const int seen = counter;
                    const std::scoped_lock inner{tree};
                    counter = seen + 1;
                }
            });
    }
    EXPECT_EQ(counter, 200) << promise_broken;
}

} // namespace
} // namespace holdfast::conformance
