// One writer or many readers.

#include "conformance/engine.hpp"
#include "conformance/events.hpp"
#include "conformance/puppet.hpp"
#include "promise.hpp"

#include <holdfast/shared_mutex.hpp>

#include <algorithm>
#include <thread>
#include <vector>

namespace holdfast::conformance {
namespace {

HOLDFAST_SUITE(shared_conformance, shared_locks);

TEST_P(shared_conformance, clients_read_together_and_write_alone) {
    shared_mutex ours{open(), "page"};
    shared_mutex theirs{open(), "page"};
    {
        auto reading = ours.acquire_shared();
        auto also = theirs.try_acquire_shared();
        EXPECT_TRUE(also);
        EXPECT_FALSE((shared_mutex{open(), "page"}.try_acquire()));
        EXPECT_EQ(reading.release(), release_result::released);
        EXPECT_FALSE((shared_mutex{open(), "page"}.try_acquire())) << "one still reads";
        EXPECT_EQ(also->release(), release_result::released);
    }
    {
        auto writing = ours.try_acquire();
        ASSERT_TRUE(writing);
        EXPECT_FALSE(theirs.try_acquire_shared());
        EXPECT_FALSE(theirs.try_acquire_shared_for(a_while));
        EXPECT_FALSE(theirs.try_acquire());
        EXPECT_FALSE(theirs.try_acquire_for(a_while));
        EXPECT_EQ(writing->release(), release_result::released);
    }
    EXPECT_TRUE(theirs.try_acquire_shared());
}

TEST_P(shared_conformance, threads_of_one_client_read_together_and_write_alone) {
    shared_mutex page{open(), "page"};
    const auto elsewhere = [](auto body) {
        auto future = in_a_thread(body);
        return outcome(future);
    };
    {
        auto reading = page.acquire_shared();
        EXPECT_TRUE(elsewhere([&] { return page.try_acquire_shared_for(patience).has_value(); }));
        EXPECT_FALSE(elsewhere([&] { return page.try_acquire_for(a_while).has_value(); }));
        EXPECT_EQ(reading.release(), release_result::released);
    }
    const auto writing = page.acquire({.wait = patience});
    EXPECT_FALSE(elsewhere([&] { return page.try_acquire_shared().has_value(); }));
    EXPECT_FALSE(elsewhere([&] { return page.try_acquire().has_value(); }));
}

TEST_P(shared_conformance, a_reader_that_wants_to_write_is_refused_at_once) {
    const auto client = open();
    shared_mutex page{client, "page"};
    shared_mutex same{client, "page"};
    page.lock_shared();
    EXPECT_EQ(error_of([&] { page.lock(); }), deadlock());
    EXPECT_EQ(error_of([&] { same.lock(); }), deadlock());
    page.unlock_shared();
    page.lock();
    page.unlock();
}

TEST_P(shared_conformance, a_writer_may_read_under_its_own_write) {
    const auto client = open();
    shared_mutex page{client, "page"};
    shared_mutex theirs{open(), "page"};
    page.lock();
    page.lock_shared();
    EXPECT_FALSE(theirs.try_lock_shared()) << "it is still written";
    page.unlock();
    EXPECT_FALSE(theirs.try_lock()) << "now it is read";
    EXPECT_TRUE(theirs.try_lock_shared_for(patience)) << "by anybody";
    theirs.unlock_shared();
    page.unlock_shared();
    EXPECT_TRUE(theirs.try_lock_for(patience));
    theirs.unlock();
}

TEST_P(shared_conformance, a_reading_under_a_write_ends_without_ending_the_write) {
    const auto client = open();
    shared_mutex page{client, "page"};
    shared_mutex theirs{open(), "page"};
    page.lock();
    page.lock_shared();
    page.unlock_shared();
    EXPECT_FALSE(theirs.try_lock_shared_for(a_while));
    page.unlock();
    EXPECT_TRUE(theirs.try_lock_shared_for(patience));
    theirs.unlock_shared();
}

TEST_P(shared_conformance, a_thread_may_read_twice) {
    const auto client = open();
    shared_mutex page{client, "page"};
    shared_mutex theirs{open(), "page"};
    page.lock_shared();
    page.lock_shared();
    page.unlock_shared();
    EXPECT_FALSE(theirs.try_lock()) << "one reading is left";
    page.unlock_shared();
    EXPECT_TRUE(theirs.try_lock_for(patience));
    theirs.unlock();
}

TEST_P(shared_conformance, a_waiting_writer_is_not_kept_out_by_ever_new_readers) {
    const auto client = open();
    shared_mutex writer{open(), "page"};
    std::vector<std::jthread> readers;
    for (int t = 0; t < 3; ++t)
        readers.emplace_back([&](const std::stop_token& stop) {
            shared_mutex page{client, "page"};
            while (!stop.stop_requested())
                (void)page.acquire_shared();
        });
    EXPECT_TRUE(writer.try_acquire_for(patience));
}

TEST_P(shared_conformance, a_local_writer_is_not_kept_out_by_ever_new_readers) {
    const auto client = open();
    std::vector<std::jthread> readers;
    for (int t = 0; t < 3; ++t)
        readers.emplace_back([&](const std::stop_token& stop) {
            shared_mutex page{client, "page"};
            while (!stop.stop_requested())
                (void)page.acquire_shared();
        });
    EXPECT_TRUE((shared_mutex{client, "page"}.try_acquire_for(patience)));
}

TEST_P(shared_conformance, readers_never_see_a_writer_at_work) {
    std::vector<client> clients{open(), open()};
    int left = 0, right = 0; // equal, except while somebody writes
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 6; ++t)
            threads.emplace_back([&, t] {
                shared_mutex page{clients[static_cast<std::size_t>(t % 2)], "page"};
                for (int i = 0; i < 40; ++i) {
                    if (t < 2) {
                        const auto writing = page.acquire();
                        ++left;
                        std::this_thread::yield();
                        ++right;
                    } else {
                        const auto reading = page.acquire_shared();
                        EXPECT_EQ(left, right) << promise_broken;
                    }
                }
            });
    }
    EXPECT_EQ(left, 80) << promise_broken;
    EXPECT_EQ(right, 80) << promise_broken;
}

TEST_P(shared_conformance, a_lost_reader_lets_the_writer_in) {
    shared_mutex ours{open(), "page"};
    shared_mutex theirs{open(), "page"};
    const auto reading = ours.acquire_shared({.ttl = 300ms, .renew = false});
    const auto deadline = reading.deadline();
    EXPECT_TRUE(theirs.try_acquire_for(patience));
    EXPECT_GE(boot_clock::now(), deadline);
    EXPECT_TRUE(reading.lost());
}

HOLDFAST_SUITE(readers_fence_conformance, shared_locks_with_fences);

TEST_P(readers_fence_conformance, readers_carry_the_fence_of_the_last_writer_at_least) {
    shared_mutex page{open(), "page"};
    shared_mutex theirs{open(), "page"};
    auto writing = page.acquire();
    const auto written = writing.fence();
    EXPECT_EQ(writing.release(), release_result::released);
    auto reading = page.acquire_shared();
    auto also = theirs.acquire_shared();
    EXPECT_GE(reading.fence(), written) << promise_broken;
    EXPECT_GE(also.fence(), written) << promise_broken;
    const auto read = std::max(reading.fence(), also.fence());
    EXPECT_EQ(reading.release(), release_result::released);
    EXPECT_EQ(also.release(), release_result::released);
    EXPECT_GT(page.acquire().fence(), read)
        << promise_broken << "the next writer is after all of them";
}

HOLDFAST_SUITE(processes_share_conformance, shared_locks_of_other_processes);

TEST_P(processes_share_conformance, processes_read_together_and_write_alone) {
    puppet reader{here()}, also{here()}, writer{here()};
    const wanting to_read{.name = "page", .mode = mode::shared};
    (void)reader.acquires(to_read);
    (void)also.acquires(to_read);
    writer.wants({.name = "page", .options = {.wait = 0s}});
    EXPECT_EQ(writer.answer(), "contended");
    writer.wants({.name = "page"});
    writer.queued();
    EXPECT_EQ(reader.releases(), release_result::released);
    EXPECT_EQ(also.releases(), release_result::released);
    (void)writer.granted();
    reader.wants({.name = "page", .options = {.wait = 0s}, .mode = mode::shared});
    EXPECT_EQ(reader.answer(), "contended");
}

TEST_P(processes_share_conformance, a_killed_reader_lets_the_writer_in) {
    puppet reader{here()}, also{here()}, writer{here()};
    const wanting to_read{.name = "page", .options = {.ttl = 1s}, .mode = mode::shared};
    (void)reader.acquires(to_read);
    (void)also.acquires(to_read);
    writer.wants({.name = "page"});
    writer.queued();
    reader.kill();
    also.kill();
    (void)writer.granted();
}

} // namespace
} // namespace holdfast::conformance
