// Our locks and the real Redisson's on the same names.

#include "interop/redisson.hpp"
#include "promise.hpp"

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/shared_mutex.hpp>

#include <mutex>
#include <random>
#include <thread>

namespace holdfast::interop {
namespace {

using namespace std::chrono_literals;

class ours_and_redisson : public with_redisson {
protected:
    // The server has just been started, and we know that it has forgotten nothing.
    [[nodiscard]] client open_ours() const { return open(server->url() + "?quarantine=0"); }

    /// As Peer.java counts: reads, pauses, writes plus one.
    void count_up(const std::string& key) const {
        const auto before = server->ask({"GET", key});
        std::this_thread::sleep_for(std::chrono::microseconds{std::random_device{}() % 1000});
        const auto number = before.is_nil() ? 0 : std::stoi(before.text);
        server->ask({"SET", key, std::to_string(number + 1)});
    }
};

INSTANTIATE_TEST_SUITE_P(real,
                         ours_and_redisson,
                         ::testing::ValuesIn(redisson_versions_to_test()),
                         version_as_name);

TEST_P(ours_and_redisson, what_we_hold_java_cannot_take_until_we_release) {
    const auto us = open_ours();
    mutex orders{us, "orders"};
    auto lease = orders.acquire();
    EXPECT_EQ(java->ask("trylock c1 h1 plain orders 0 10000"), "no");
    const auto waiting = java->begin("lock c1 h1 plain orders");
    EXPECT_FALSE(java->has_answered(waiting, 100ms));
    lease.release();
    java->end(waiting, 2s); // woken by our message, long before our ttl
    EXPECT_FALSE(orders.try_acquire());
    java->ask("unlock c1 h1 plain orders");
    EXPECT_TRUE(orders.try_acquire_for(2s));
}

TEST_P(ours_and_redisson, what_java_holds_we_get_when_it_releases) {
    const auto us = open_ours();
    mutex orders{us, "orders"};
    java->ask("lock c1 h1 plain orders");
    EXPECT_FALSE(orders.try_acquire());
    std::optional<lease> got;
    std::thread waiter{[&] { got = orders.try_acquire_for(5s); }};
    EXPECT_TRUE(cli_tests::comes_true(30s, [&] {
        return server->ask({"PUBSUB", "NUMSUB", "redisson_lock__channel:{orders}"})
                   .items[1]
                   .number == 1;
    }));
    java->ask("unlock c1 h1 plain orders");
    waiter.join();
    EXPECT_TRUE(got);
}

TEST_P(ours_and_redisson, count_together_without_a_mistake) {
    constexpr int each = 50;
    for (const std::string kind : {"plain", "fair"}) {
        const auto name = "of-" + kind;
        const auto counter = "counter-" + kind;
        std::vector<std::thread> ours;
        for (int i = 0; i < 2; ++i)
            ours.emplace_back([&] {
                const auto us = open_ours();
                mutex lock{us, name};
                for (int n = 0; n < each; ++n) {
                    const auto lease =
                        lock.acquire({.order = kind == "fair" ? queueing::fair : queueing::plain});
                    count_up(counter);
                }
            });
        const auto one = java->begin("count c1 h1", kind, name, counter, "50");
        const auto two = java->begin("count c2 h1", kind, name, counter, "50");
        for (auto& thread : ours)
            thread.join();
        java->end(one);
        java->end(two);
        EXPECT_EQ(server->ask({"GET", counter}).text, std::to_string(4 * each))
            << promise_broken << kind;
    }
}

TEST_P(ours_and_redisson, readers_share_and_writers_do_not) {
    const auto us = open_ours();
    shared_mutex orders{us, "orders"};
    {
        const auto reading = orders.acquire_shared();
        EXPECT_EQ(java->ask("trylock c1 h1 read orders 0 10000"), "yes");
        EXPECT_EQ(java->ask("trylock c1 h2 write orders 0 10000"), "no");
    }
    EXPECT_FALSE(orders.try_acquire()); // Java still reads
    java->ask("unlock c1 h1 read orders");
    auto writing = orders.try_acquire_for(2s);
    ASSERT_TRUE(writing);
    EXPECT_EQ(java->ask("trylock c1 h1 read orders 0 10000"), "no");
    writing->release();
    EXPECT_EQ(java->ask("trylock c1 h1 read orders 1000 10000"), "yes");
}

} // namespace
} // namespace holdfast::interop
