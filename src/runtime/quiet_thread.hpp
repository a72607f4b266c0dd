#pragma once

#include <csignal>
#include <pthread.h>
#include <thread>
#include <utility>

namespace holdfast::detail {

/// A thread that takes no signals: they are the program's, not ours.
template <class F> [[nodiscard]] std::thread quiet_thread(F&& body) {
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread made{std::forward<F>(body)};
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return made;
}

} // namespace holdfast::detail
