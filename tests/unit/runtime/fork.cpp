#include "runtime/fork.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace holdfast::detail {
namespace {

// What `in_child` returns is the child's exit status.
template <class F> int in_a_forked_child(F in_child) {
    const pid_t child = ::fork();
    if (child == 0)
        ::_exit(in_child());
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(fork_safety, a_child_has_another_generation_and_a_grandchild_yet_another) {
    const auto parent = fork_generation();
    EXPECT_EQ(in_a_forked_child([&] {
                  if (fork_generation() == parent)
                      return 1;
                  const auto child = fork_generation();
                  return in_a_forked_child([&] { return fork_generation() == child ? 1 : 0; });
              }),
              0);
    EXPECT_EQ(fork_generation(), parent);
}

TEST(fork_safety, a_child_does_not_keep_a_descriptor_that_stands_for_its_parent) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    ASSERT_TRUE(close_in_child(ends[1]));
    EXPECT_EQ(in_a_forked_child([&] { return ::fcntl(ends[1], F_GETFD) == -1 ? 0 : 1; }), 0);
    EXPECT_NE(::fcntl(ends[1], F_GETFD), -1);
    forget_in_child(ends[1]);
    EXPECT_EQ(in_a_forked_child([&] { return ::fcntl(ends[1], F_GETFD) == -1 ? 1 : 0; }), 0);
    ::close(ends[0]);
    ::close(ends[1]);
}

} // namespace
} // namespace holdfast::detail
