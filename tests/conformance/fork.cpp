// After fork() there are two of us, and only the parent holds anything.

#include "conformance/child.hpp"
#include "conformance/engine.hpp"
#include "conformance/events.hpp"
#include "conformance/undisturbed.hpp"

#include <holdfast/mutex.hpp>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace holdfast::conformance {
namespace {

HOLDFAST_SUITE(fork_conformance, other_processes);

// Runs the body in a forked child and tells what it returned: 0 if all was well, else where not.
/// The sanitizers of GCC 12 do not survive a fork while another thread allocates. So all of them
/// sleep when it happens: for two looks in a row, or the test goes on after two seconds.
void let_all_threads_rest() {
    const auto asleep = [] {
        for (const auto& task : std::filesystem::directory_iterator{"/proc/self/task"}) {
            std::ifstream file{task.path() / "stat"};
            std::string line;
            std::getline(file, line);
            const auto name_ends = line.rfind(") ");
            const bool me = task.path().filename() == std::to_string(::gettid());
            if (!me && name_ends != std::string::npos && line.at(name_ends + 2) != 'S')
                return false;
        }
        return true;
    };
    const auto by = boot_clock::now() + 2s;
    for (int looks = 0; looks < 2 && boot_clock::now() < by;) {
        looks = asleep() ? looks + 1 : 0;
        std::this_thread::sleep_for(1ms);
    }
}

template <class Body> [[nodiscard]] int in_a_fork(Body body) {
    let_all_threads_rest();
    const pid_t pid = ::fork();
    if (pid != 0)
        return wait_for_end(pid);
    int result = 99;
    try {
        result = body();
    } catch (const std::exception& e) {
        std::fprintf(stderr, "in the fork: %s\n", e.what());
    }
    ::_exit(result);
}

TEST_P(fork_conformance, the_child_holds_nothing) {
    const auto lease = mutex{open(), "orders/42"}.acquire();
    EXPECT_EQ(in_a_fork([&] {
                  if (lease.held())
                      return 1;
                  return lease.remaining() == duration::zero() ? 0 : 2;
              }),
              0);
    EXPECT_TRUE(lease.held());
}

TEST_P(fork_conformance, what_the_child_destroys_stays_with_the_parent) {
    struct belongings {
        holdfast::client client;
        mutex orders{client, "orders/42"};
        mutex locked{client, "orders/43"};
        lease held = orders.acquire({.wait = patience, .ttl = 1s});
        explicit belongings(const holdfast::client& c) : client{c} { locked.lock(); }
        ~belongings() { locked.unlock(); }
    };
    const auto other = open();
    EXPECT_TRUE(undisturbed(250ms, [&] {
        auto ours = std::make_unique<belongings>(open());
        EXPECT_EQ(in_a_fork([&] {
                      ours.reset();
                      return 0;
                  }),
                  0);
        return !mutex{other, "orders/42"}.try_acquire_for(1500ms) &&
               !mutex{other, "orders/43"}.try_acquire() && ours->held.held() &&
               ours->held.release() == release_result::released &&
               mutex{other, "orders/42"}.try_acquire();
    })) << "and is renewed by it";
}

// The sanitizers of GCC 12 do not survive a fork while another thread allocates; ./dev prove runs
// this without them.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_P(fork_conformance, a_child_of_a_busy_parent_opens_a_client_of_its_own) {
    const auto client = open();
    std::atomic<bool> enough{false};
    std::jthread busy{[&] {
        mutex work{client, "work"};
        while (!enough) {
            const std::scoped_lock hold{work};
        }
    }};
    for (int i = 0; i < 20; ++i)
        EXPECT_EQ(in_a_fork([&] {
                      ::alarm(60); // a child that hangs is a failure, not a hang
                      const auto own = here().open();
                      return mutex{own, "of the child"}.try_acquire_for(patience) ? 0 : 1;
                  }),
                  0)
            << i;
    enough = true;
}
#endif

TEST_P(fork_conformance, the_child_cannot_release_what_the_parent_holds) {
    auto lease = mutex{open(), "orders/42"}.acquire();
    EXPECT_EQ(in_a_fork([&] { return lease.release() == release_result::released ? 1 : 0; }), 0);
    EXPECT_TRUE(lease.held());
    EXPECT_FALSE((mutex{open(), "orders/42"}.try_acquire()));
    EXPECT_EQ(lease.release(), release_result::released);
}

TEST_P(fork_conformance, the_client_of_the_parent_is_of_no_use_to_the_child) {
    const auto client = open();
    mutex orders{client, "orders/42"};
    { const auto lease = orders.acquire(); }
    EXPECT_EQ(in_a_fork([&] {
                  if (error_of([&] { (void)orders.try_acquire(); }) != code(errc::unsupported))
                      return 1;
                  if (error_of([&] { (void)client.inspect(); }) != code(errc::unsupported))
                      return 2;
                  return 0;
              }),
              0);
    EXPECT_TRUE(orders.try_acquire()) << "and the parent does not even notice";
}

TEST_P(fork_conformance, the_child_opens_a_client_of_its_own) {
    const auto client = open();
    auto lease = mutex{client, "orders/42"}.acquire();
    EXPECT_EQ(in_a_fork([&] {
                  const auto own = holdfast::open(here().url());
                  if (mutex{own, "orders/42"}.try_acquire())
                      return 1;
                  auto other = mutex{own, "orders/43"}.try_acquire();
                  if (!other || !other->held())
                      return 2;
                  return other->release() == release_result::released ? 0 : 3;
              }),
              0);
    EXPECT_TRUE(lease.held());
    EXPECT_TRUE((mutex{client, "orders/43"}.try_acquire()));
}

TEST_P(fork_conformance, parent_and_child_exclude_each_other) {
    const auto client = open();
    auto lease = mutex{client, "orders/42"}.acquire();
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    let_all_threads_rest();
    const pid_t pid = ::fork();
    if (pid == 0) {
        int result = 1;
        {
            const auto own = holdfast::open(here().url());
            result = mutex{own, "orders/42"}.try_acquire() ? 2 : 0;
            [[maybe_unused]] const auto n = ::write(ready[1], "x", 1);
            if (!mutex{own, "orders/42"}.try_acquire_for(patience))
                result = 3;
        }
        ::_exit(result);
    }
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    EXPECT_TRUE(lease.held());
    EXPECT_EQ(lease.release(), release_result::released);
    EXPECT_EQ(wait_for_end(pid), 0);
    ::close(ready[0]);
    ::close(ready[1]);
}

// Has a child that inherited everything and outlives it.
HOLDFAST_WORKER(hold_and_fork) {
    const auto on = open(arguments.at(0));
    const auto lease = mutex{on, "orders/42"}.acquire({.ttl = 1s});
    let_all_threads_rest();
    if (::fork() == 0) {
        char byte = 0;
        while (::read(STDIN_FILENO, &byte, 1) > 0) { // until the test has ended
        }
        ::_exit(0);
    }
    tell_parent("held");
    ::pause();
    return 0;
}

TEST_P(fork_conformance, an_orphan_does_not_keep_what_its_killed_parent_held) {
    child holder{"hold_and_fork", {here().url()}};
    ASSERT_EQ(holder.hear(), "held");
    EXPECT_FALSE((mutex{open(), "orders/42"}.try_acquire()));
    holder.kill();
    EXPECT_TRUE((mutex{open(), "orders/42"}.try_acquire_for(patience)));
}

} // namespace
} // namespace holdfast::conformance
