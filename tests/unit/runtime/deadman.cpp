#include "runtime/deadman.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;

int status_of_child(void (*body)()) {
    const pid_t child = ::fork();
    if (child == 0) {
        body();
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
}

TEST(deadman_timer, kills_a_process_that_is_stopped) {
    const int status = status_of_child([] {
        deadman d;
        d.kill_at(boot_clock::now() + 50ms);
        ::raise(SIGSTOP); // never continued
    });
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST(deadman_timer, spares_a_process_that_moved_its_deadline_or_disarmed_it) {
    const int status = status_of_child([] {
        deadman d;
        const auto first = boot_clock::now() + 30ms;
        d.kill_at(first);
        d.kill_at(first + 1h);
        d.kill_at(never);
        while (boot_clock::now() < first + 20ms) {
        }
    });
    EXPECT_TRUE(WIFEXITED(status));
}

} // namespace
} // namespace holdfast::detail
