// Who waits is woken, whatever else goes on at the same name. Nobody here waits for a ttl.

#include "gate/redis_at_fault.hpp"

namespace holdfast::servers {
namespace {

class redis_waking : public redis_at_fault {
protected:
    void SetUp() override {
        redis_at_fault::SetUp();
        if (!IsSkipped() && !HasFatalFailure())
            start();
    }
    [[nodiscard]] bool somebody_listens(const std::string& channel) const {
        return eventually([&] {
            return server->ask({"PUBSUB", "NUMSUB", channel}).items.at(1).number > 0;
        });
    }
};

TEST_F(redis_waking, another_wish_of_the_same_client_hears_its_own_release) {
    const auto seen = std::make_shared<conformance::chronicle>();
    const auto ours = open_ours("quarantine=0", seen);
    const auto others = open_ours();
    mutex orders{ours, "orders"};
    { // others have waited, and still listen: when we release, we let them go first
        auto held = orders.acquire({.wait = 30s, .ttl = 10min});
        auto waiter = in_a_thread([&] {
            return mutex{others, "orders"}.acquire({.wait = 60s, .ttl = 10min}).held();
        });
        ASSERT_TRUE(somebody_listens("redisson_lock__channel:{orders}"));
        static_cast<void>(held.release());
        ASSERT_TRUE(outcome(waiter));
    }
    for (int i = 1; i <= 20; ++i) {
        auto held = orders.acquire({.wait = 30s, .ttl = 10min});
        // Of another shape, so it is not passed on in here but asked for anew.
        auto waiter = in_a_thread([&] {
            return mutex{ours, "orders"}.try_acquire_for(20s, {.ttl = 11min}).has_value();
        });
        ASSERT_TRUE(seen->saw(event::kind::waiting, "orders", i));
        static_cast<void>(held.release());
        ASSERT_TRUE(outcome(waiter)) << i;
    }
}

TEST_F(redis_waking, who_was_deaf_for_a_moment_asks_again) {
    const auto ours = open_ours();
    const auto others = open("redis://" + server->address() + "?quarantine=0");
    auto held = mutex{others, "orders"}.acquire({.wait = 30s, .ttl = 10min});
    auto waiter = in_a_thread([&] {
        return mutex{ours, "orders"}.try_acquire_for(50s, {.ttl = 10min}).has_value();
    });
    ASSERT_TRUE(somebody_listens("redisson_lock__channel:{orders}"));
    way->refuse();
    way->cut();
    static_cast<void>(held.release()); // nobody hears it
    EXPECT_FALSE(exists("orders"));
    way->admit();
    EXPECT_TRUE(outcome(waiter));
}

TEST_F(redis_waking, readers_and_writers_of_one_client_hear_each_other) {
    const auto seen = std::make_shared<conformance::chronicle>();
    const auto ours = open_ours("quarantine=0", seen);
    const auto others = open_ours();
    shared_mutex orders{ours, "orders"};
    {
        auto held = orders.acquire({.wait = 30s, .ttl = 10min});
        auto waiter = in_a_thread([&] {
            return shared_mutex{others, "orders"}.acquire({.wait = 60s, .ttl = 10min}).held();
        });
        ASSERT_TRUE(somebody_listens("redisson_rwlock:{orders}"));
        static_cast<void>(held.release());
        ASSERT_TRUE(outcome(waiter));
    }
    for (int i = 1; i <= 20; ++i) {
        auto held = i % 2 == 0 ? orders.acquire({.wait = 30s, .ttl = 10min})
                               : orders.acquire_shared({.wait = 30s, .ttl = 10min});
        auto waiter = in_a_thread([&] {
            shared_mutex same{ours, "orders"};
            return i % 2 == 0 ? same.try_acquire_shared_for(20s, {.ttl = 10min}).has_value()
                              : same.try_acquire_for(20s, {.ttl = 10min}).has_value();
        });
        ASSERT_TRUE(seen->saw(event::kind::waiting, "orders", i));
        static_cast<void>(held.release());
        ASSERT_TRUE(outcome(waiter)) << i;
    }
}

} // namespace
} // namespace holdfast::servers
