#include "runtime/loop.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <future>
#include <sys/eventfd.h>
#include <unistd.h>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;

TEST(loop, calls_at_the_time_it_was_given_and_not_before) {
    std::promise<instant> called;
    loop l{[&] { called.set_value(boot_clock::now()); }};
    const auto when = boot_clock::now() + 20ms;
    l.wake_at(when);
    EXPECT_GE(called.get_future().get(), when);
}

TEST(loop, calls_at_once_for_a_time_that_has_passed) {
    std::promise<void> called;
    loop l{[&] { called.set_value(); }};
    l.wake_at(boot_clock::now() - 1h);
    called.get_future().get();
}

TEST(loop, tells_of_a_readable_descriptor_until_it_is_drained) {
    const int fd = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    std::promise<eventfd_t> read;
    {
        loop l{[] {}};
        l.watch(fd, [&] {
            eventfd_t value = 0;
            ::eventfd_read(fd, &value);
            read.set_value(value);
        });
        ::eventfd_write(fd, 7);
        EXPECT_EQ(read.get_future().get(), 7U);
    }
    EXPECT_EQ(::close(fd), 0) << "the descriptor stays its owner's";
}

TEST(loop, takes_no_signals) {
    std::promise<bool> blocked;
    loop l{[] {}};
    l.post([&] {
        sigset_t mask;
        ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
        blocked.set_value(::sigismember(&mask, SIGTERM) == 1 && ::sigismember(&mask, SIGINT) == 1);
    });
    EXPECT_TRUE(blocked.get_future().get());
}

} // namespace
} // namespace holdfast::detail
