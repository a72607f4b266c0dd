// Nothing happens while nothing happens: whoever waits or holds costs neither time nor wake-ups.

#include "conformance/engine.hpp"
#include "conformance/events.hpp"
#include "conformance/puppet.hpp"

#include <holdfast/mutex.hpp>

#include <filesystem>
#include <fstream>
#include <string>

namespace holdfast::conformance {
namespace {

HOLDFAST_SUITE(rest_conformance, pushed_wakes);

// How often the threads of a process have gone to sleep so far.
[[nodiscard]] long times_asleep(pid_t pid) {
    long times = 0;
    for (const auto& task :
         std::filesystem::directory_iterator{"/proc/" + std::to_string(pid) + "/task"}) {
        std::ifstream status{task.path() / "status"};
        for (std::string word; status >> word;)
            if (long n = 0; word == "voluntary_ctxt_switches:" && status >> n)
                times += n;
    }
    return times;
}

#ifdef __SANITIZE_THREAD__
constexpr long few = 60; // it has a thread of its own that looks around all the time
#else
constexpr long few = 20; // asking every 100 ms would be four times that
#endif

// A session of three seconds is kept alive by several threads.
[[nodiscard]] long few_for(const capabilities& engine) {
    return engine.ttl == ttl_scope::session ? 3 * few : few;
}

// Two seconds, told by the clock of the engine: a wait that ends.
void let_time_pass(place& where) {
    const auto held = mutex{where.open(), "an hourglass"}.acquire();
    EXPECT_FALSE((mutex{where.open(), "an hourglass"}.try_acquire_for(2s)));
}

TEST_P(rest_conformance, a_waiter_sleeps_until_it_is_its_turn) {
    puppet waiter{here()};
    auto held = mutex{open(), "orders/42"}.acquire();
    waiter.wants({.name = "orders/42"});
    waiter.queued();
    const auto before = times_asleep(waiter.pid());
    let_time_pass(here());
    EXPECT_LE(times_asleep(waiter.pid()) - before, few_for(promises()));
    EXPECT_EQ(held.release(), release_result::released);
    (void)waiter.granted();
}

TEST_P(rest_conformance, a_holder_is_left_alone) {
    puppet holder{here()};
    (void)holder.acquires({.name = "orders/42"});
    const auto before = times_asleep(holder.pid());
    let_time_pass(here());
    EXPECT_LE(times_asleep(holder.pid()) - before, few_for(promises()));
    EXPECT_TRUE(holder.holds());
}

} // namespace
} // namespace holdfast::conformance
