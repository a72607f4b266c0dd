// Our ZooKeeper engine on servers to which things happen: they die, are cut off from each other or
// from us.

#include "conformance/events.hpp"
#include "conformance/witness.hpp"
#include "gate/gate.hpp"
#include "gate/gated_ensemble.hpp"
#include "promise.hpp"
#include "servers/folder.hpp"
#include "servers/zookeeper.hpp"
#include "servers/zookeeper_tree.hpp"

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/observer.hpp>
#include <holdfast/semaphore.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::servers {
namespace {

using conformance::eventually;
using conformance::happening;
using conformance::in_a_thread;
using conformance::outcome;
using namespace std::chrono_literals;

[[nodiscard]] client open_at(const std::string& addresses,
                             const std::string& options = "session=3s") {
    return open("zookeeper://" + addresses + "?" + options);
}

/// Takes the lock again and again, and says what it really did. One thread for each client: passing
/// it on inside a client keeps the fence.
class crowd {
public:
    crowd(std::vector<client> clients, const std::string& name, const std::string& path)
        : seen_{path} {
        for (const auto& one : clients)
            threads_.emplace_back([this, one, name] {
                mutex door{one, name};
                while (!over_)
                    try {
                        if (auto got = door.try_acquire_for(1s)) {
                            seen_.testify(*got, 20);
                            ++holds_;
                        }
                    } catch (const std::system_error&) { // away for a moment
                    }
            });
    }
    ~crowd() { end(); }
    void end() {
        over_ = true;
        for (auto& one : threads_)
            if (one.joinable())
                one.join();
    }
    [[nodiscard]] bool goes_on() const {
        const auto before = holds_.load();
        return eventually([&] { return holds_ > before + 5; });
    }
    void expect_one_at_a_time() {
        end();
        const auto all = seen_.judge();
        EXPECT_GT(all.holds, 10U);
        EXPECT_EQ(all.overlaps, 0U) << promise_broken;
        EXPECT_EQ(all.regressions, 0U) << promise_broken;
    }

private:
    conformance::witness seen_;
    std::atomic<bool> over_ = false;
    std::atomic<int> holds_ = 0;
    std::vector<std::thread> threads_;
};

class zookeeper_faults : public ::testing::Test {
protected:
    void SetUp() override { HOLDFAST_NEEDS(zookeeper_server::missing()); }
    folder room;
};

TEST_F(zookeeper_faults, a_leader_that_dies_costs_nothing_but_time) {
    gated_ensemble ensemble;
    auto& all = ensemble.all;
    const auto ours = open_at(all.addresses(), "session=60s");
    const auto others = open_at(all.addresses(), "session=60s");
    auto held = mutex{ours, "orders"}.acquire({.wait = 30s});
    auto waiter = in_a_thread([&] { return mutex{others, "orders"}.acquire(); });
    crowd busy{{open_at(all.addresses()), open_at(all.addresses()), open_at(all.addresses())},
               "/busy",
               room / "witness"};
    EXPECT_TRUE(busy.goes_on());
    for (int i = 0; i < 2; ++i) {
        const auto leads = all.leader();
        all.member(leads).kill();
        static_cast<void>(all.leader());
        EXPECT_TRUE(busy.goes_on());
        all.restart(leads);
    }
    EXPECT_TRUE(held.held()) << "its session went on with another server";
    const auto before = held.fence();
    EXPECT_EQ(held.release(), release_result::released);
    EXPECT_GT(outcome(waiter).fence(), before) << promise_broken;
    busy.expect_one_at_a_time();
}

// It goes on answering reads and pings, for as long as syncLimit allows: only the leader ends
// sessions, and does.
TEST_F(zookeeper_faults, a_follower_that_misses_its_leader_does_not_make_us_believe) {
    gated_ensemble ensemble{{.settings = {"syncLimit=100"}}};
    auto& all = ensemble.all;
    const auto leads = all.leader();
    const auto follows = all.follower();
    const auto ours = open_at(all.member(follows).address());
    const auto others = open_at(all.member(leads).address());
    auto held = mutex{ours, "orders"}.acquire({.wait = 30s});
    std::atomic<instant> lost_at{never};
    happening lost;
    held.on_lost([&] {
        lost_at = boot_clock::now();
        lost.happen();
    });
    auto waiter = in_a_thread([&] {
        auto got = mutex{others, "orders"}.acquire();
        return std::pair{boot_clock::now(), got.fence()};
    });
    ensemble.separate(leads, follows);
    const auto [granted_at, next] = outcome(waiter);
    EXPECT_TRUE(lost.awaited());
    EXPECT_LT(lost_at.load(), granted_at) << promise_broken << "lost is told before another has it";
    EXPECT_FALSE(held.held()) << promise_broken;
    EXPECT_GT(next, held.fence()) << promise_broken;
    ensemble.join(leads, follows);
}

TEST_F(zookeeper_faults, whoever_is_cut_off_has_lost_before_another_has_it) {
    zookeeper_server server;
    gate way{server.port()};
    const auto ours = open_at(way.address());
    const auto others = open_at(server.address());
    auto held = mutex{ours, "orders"}.acquire({.wait = 30s});
    auto permit = semaphore{ours, "seats", 1}.acquire({.wait = 30s});
    happening lost;
    std::atomic<instant> lost_at{never};
    held.on_lost([&] {
        lost_at = boot_clock::now();
        lost.happen();
    });
    auto waiter = in_a_thread([&] {
        auto got = mutex{others, "orders"}.acquire();
        return boot_clock::now();
    });
    way.drop(direction::to_server);
    way.drop(direction::to_client);
    const auto granted_at = outcome(waiter);
    EXPECT_TRUE(lost.awaited());
    EXPECT_LT(lost_at.load(), granted_at) << promise_broken;
    EXPECT_TRUE(permit.lost()) << "one session, one end";
    way.pass(direction::to_server);
    way.pass(direction::to_client);
    way.cut();
    EXPECT_TRUE((mutex{ours, "orders"}.try_acquire_for(30s))) << "a new session";
    EXPECT_FALSE(held.held()) << promise_broken << "lost is lost";
}

TEST_F(zookeeper_faults, all_servers_restart_and_a_session_goes_on) {
    gated_ensemble ensemble;
    auto& all = ensemble.all;
    const auto ours = open_at(all.addresses(), "session=60s");
    const auto others = open_at(all.addresses(), "session=60s");
    auto held = mutex{ours, "orders"}.acquire({.wait = 30s});
    auto waiter = in_a_thread([&] { return mutex{others, "orders"}.acquire(); });
    crowd busy{{open_at(all.addresses()), open_at(all.addresses()), open_at(all.addresses())},
               "/busy",
               room / "witness"};
    EXPECT_TRUE(busy.goes_on());
    all.restart_all();
    EXPECT_TRUE(busy.goes_on());
    EXPECT_TRUE(held.held());
    const auto before = held.fence();
    EXPECT_EQ(held.release(), release_result::released);
    EXPECT_GT(outcome(waiter).fence(), before) << promise_broken;
    busy.expect_one_at_a_time();
}

TEST_F(zookeeper_faults, without_a_majority_nobody_gets_a_lock_and_holders_keep_theirs_to_the_end) {
    gated_ensemble ensemble;
    auto& all = ensemble.all;
    const auto ours = open_at(all.addresses(), "session=4s");
    auto held = mutex{ours, "orders"}.acquire({.wait = 30s});
    const auto leads = all.leader();
    all.member(all.follower()).kill();
    all.member(leads).kill();
    const auto deadline = held.deadline();
    EXPECT_THROW((void)(mutex{ours, "other"}.try_acquire_for(500ms)), std::system_error);
    EXPECT_TRUE(eventually([&] { return held.lost(); }));
    EXPECT_GE(boot_clock::now(), deadline);
    for (std::size_t i = 0; i < 3; ++i)
        if (!all.member(i).runs())
            all.member(i).restart();
    all.until_all_serve();
    EXPECT_TRUE((mutex{ours, "orders"}.try_acquire_for(60s)));
}

// Whatever was on its way when the connection broke is found again by its guid, or made again;
// never twice.
TEST_F(zookeeper_faults, an_answer_that_is_lost_leaves_nothing_behind) {
    zookeeper_server server;
    gate way{server.port()};
    zookeeper_tree tree{server.address()};
    const auto ours = open_at(way.address(), "session=20s");
    mutex orders{ours, "orders"};
    (void)orders.acquire({.wait = 30s}).release();
    for (const auto lost : {direction::to_client, direction::to_server}) {
        way.drop(lost);
        auto asking = in_a_thread([&] { return orders.acquire({.wait = 60s}); });
        std::this_thread::sleep_for(50ms);
        way.cut();
        way.pass(lost);
        auto held = outcome(asking);
        EXPECT_TRUE(held.held());
        EXPECT_TRUE(eventually([&] { return tree.children("/orders").size() == 1; }))
            << "one node for one lock";
        way.drop(lost);
        auto leaving = in_a_thread([&] { return held.release(); });
        std::this_thread::sleep_for(50ms);
        way.cut();
        way.pass(lost);
        static_cast<void>(outcome(leaving));
        EXPECT_TRUE(eventually([&] { return tree.children("/orders").empty(); }))
            << "removed in the end, though the session lives";
    }
}

TEST_F(zookeeper_faults, who_watches_is_told_of_the_connection) {
    class states final : public observer {
    public:
        void on(const event& e) override {
            if (e.what != event::kind::link)
                return;
            const std::lock_guard lock{guard_};
            all_ += std::string{e.detail} + '\n';
        }
        [[nodiscard]] bool say(const char* text) {
            return eventually([&] {
                const std::lock_guard lock{guard_};
                return all_.find(text) != std::string::npos;
            });
        }

    private:
        std::mutex guard_;
        std::string all_;
    };
    zookeeper_server server;
    gate way{server.port()};
    const auto seen = std::make_shared<states>();
    const auto ours = open("zookeeper://" + way.address() + "?session=2s", {.observer = seen});
    auto held = mutex{ours, "orders"}.acquire({.wait = 30s});
    EXPECT_TRUE(seen->say("connected"));
    way.cut();
    EXPECT_TRUE(seen->say("suspended"));
    EXPECT_TRUE(seen->say("reconnected"));
    EXPECT_TRUE(held.held());
    server.pause();
    EXPECT_TRUE(eventually([&] { return held.lost(); }));
    server.resume();
    EXPECT_TRUE((mutex{ours, "orders"}.try_acquire_for(60s)));
}

TEST_F(zookeeper_faults, a_folder_that_was_made_anew_is_not_taken_for_the_old_one) {
    zookeeper_server server;
    zookeeper_tree tree{server.address()};
    const auto ours = open_at(server.address()), theirs = open_at(server.address());
    mutex here{ours, "/orders"}, there{theirs, "/orders"};
    const auto numbers = [&](mutex& door, int times) {
        for (int i = 0; i < times; ++i)
            EXPECT_EQ(door.acquire().release(), release_result::released);
    };
    numbers(here, 3); // 0, 1, 2: the last without a list
    ASSERT_TRUE(tree.remove("/orders"));
    numbers(there, 2); // 0, 1
    const auto held = there.acquire();
    ASSERT_TRUE(tree.children("/orders").at(0).ends_with("0000000002"));
    EXPECT_FALSE(here.try_acquire_for(300ms)) << promise_broken; // 3: the next after our last
    EXPECT_TRUE(held.held());
}

TEST_F(zookeeper_faults, what_goes_out_together_survives_one_that_is_refused) {
    constexpr int names = 24;
    zookeeper_server server;
    zookeeper_tree tree{server.address()};
    const auto ours = open_at(server.address(), "session=20s");
    std::atomic<bool> over = false;
    std::atomic<int> holds = 0, lost = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < names; ++i)
        threads.emplace_back([&, i] {
            mutex door{ours, "/many/" + std::to_string(i)};
            std::int64_t last = 0;
            while (!over) {
                auto got = door.acquire();
                EXPECT_GT(got.fence().value(), std::exchange(last, got.fence().value()));
                lost += got.release() == release_result::lost;
                ++holds;
            }
        });
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 100 || holds < 2000; ++i) { // an operator, who takes away what he sees
        ASSERT_LT(std::chrono::steady_clock::now() - begin, 60s) << holds;
        const auto folder = "/many/" + std::to_string(i % names);
        for (const auto& node : tree.children(folder))
            tree.remove(folder + '/' + node);
    }
    over = true;
    for (auto& one : threads)
        one.join();
    EXPECT_GT(lost, 0);
    for (int i = 0; i < names; ++i)
        EXPECT_TRUE(
            eventually([&] { return tree.children("/many/" + std::to_string(i)).empty(); }));
}

TEST_F(zookeeper_faults, much_that_waits_is_dropped_when_its_session_turns_out_to_be_over) {
    constexpr int names = 1500; // more than four groups of 64, as often as the line breaks
    zookeeper_server server;
    zookeeper_tree tree{server.address()};
    gate way{server.port()};
    const auto ours = open_at(way.address());
    std::vector<lease> all;
    for (int i = 0; i < names; ++i)
        all.push_back(mutex{ours, "/many/" + std::to_string(i)}.acquire());
    way.drop(direction::to_server);
    all.clear(); // nobody waits for that
    EXPECT_TRUE(eventually([&] { return tree.children("/many/0").empty(); })) << "their session";
    way.pass(direction::to_server);
    way.cut();
    EXPECT_TRUE((mutex{ours, "/many/0"}.try_acquire_for(30s))) << "in a new one";
}

// It refuses whoever has seen more than it knows, and does not say that his session is over.
TEST_F(zookeeper_faults, a_server_that_has_forgotten_everything_is_used_in_a_new_session) {
    zookeeper_server server;
    const auto ours = open_at(server.address());
    (void)mutex{ours, "orders"}.acquire().release();
    server.restart_empty();
    EXPECT_TRUE((mutex{ours, "orders"}.try_acquire_for(30s)));
}

} // namespace
} // namespace holdfast::servers
