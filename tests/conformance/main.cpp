#include "conformance/child.hpp"
#include "servers/need.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif
#include <unistd.h>

// The count inside std::exception_ptr is atomic, but in a library that ThreadSanitizer cannot see
// into.
extern "C" const char*
__tsan_default_suppressions(); // NOLINT(bugprone-reserved-identifier): its name
extern "C" const char*
__tsan_default_suppressions() { // NOLINT(bugprone-reserved-identifier): its name
    return "race:std::__exception_ptr::exception_ptr::_M_release\n";
}

int main(int argc, char** argv) {
    if (const int status = holdfast::conformance::work_if_child(argc, argv); status >= 0)
        return status;
    ::testing::InitGoogleTest(&argc, argv);
    int result = RUN_ALL_TESTS();
    if (const char* form = std::getenv("HOLDFAST_FORM");
        form != nullptr && ::testing::UnitTest::GetInstance()->test_to_run_count() == 0) {
        std::printf("nothing was tried on %s: its servers are not here\n", form);
        result = holdfast::servers::in_ci() ? 1 : result;
    }
    // A client whose last handle went away on its own thread is ended by one that nobody waits for,
    // perhaps only now.
#ifdef __SANITIZE_ADDRESS__
    // OpenSSL goes away at exit, and what it keeps for that thread is never freed. So we look for
    // leaks before that, and for the last time.
    __lsan_do_leak_check();
#endif
#ifdef __SANITIZE_THREAD__
    // Futures are made ready by Asio's system_context, which goes away at exit beside threads that
    // have told it something and are just leaving.
    std::fflush(nullptr);
    ::_exit(result);
#endif
    return result;
}
