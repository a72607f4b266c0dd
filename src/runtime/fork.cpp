#include "runtime/fork.hpp"

#include <atomic>
#include <pthread.h>
#include <unistd.h>

namespace holdfast::detail {
namespace {

// Constant-initialised, trivially destroyed: no constructor runs before main, none after it.
constinit std::atomic<std::uint64_t> generation{0};
constinit std::atomic<bool> watching{false};
constinit std::atomic<int> not_for_children[64]{}; // descriptor + 1; 0 is an empty slot

// Those who must not be forked in the middle read; who forks writes, and is preferred.
pthread_rwlock_t gate = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

void before_the_fork() { ::pthread_rwlock_wrlock(&gate); }
void in_the_parent() { ::pthread_rwlock_unlock(&gate); }

// Only what is allowed between fork and exec in a program with threads.
void in_the_child() {
    gate = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP; // its owner is a thread of the parent
    generation.fetch_add(1, std::memory_order_relaxed);
    for (auto& slot : not_for_children)
        if (const int fd = slot.exchange(0, std::memory_order_relaxed); fd != 0)
            ::close(fd - 1);
}

void watch_forks() noexcept {
    if (!watching.exchange(true))
        ::pthread_atfork(before_the_fork, in_the_parent, in_the_child);
}

} // namespace

std::uint64_t fork_generation() noexcept {
    if (!watching.load(std::memory_order_relaxed))
        watch_forks();
    return generation.load(std::memory_order_relaxed);
}

not_while_forking::not_while_forking() noexcept {
    watch_forks();
    ::pthread_rwlock_rdlock(&gate);
}

not_while_forking::~not_while_forking() { ::pthread_rwlock_unlock(&gate); }

bool close_in_child(int fd) noexcept {
    watch_forks();
    for (auto& slot : not_for_children) {
        int empty = 0;
        if (slot.compare_exchange_strong(empty, fd + 1))
            return true;
    }
    return false;
}

void forget_in_child(int fd) noexcept {
    for (auto& slot : not_for_children) {
        int mine = fd + 1;
        if (slot.compare_exchange_strong(mine, 0))
            return;
    }
}

} // namespace holdfast::detail
