#include "conformance/child.hpp"

#include <gtest/gtest.h>

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
    return RUN_ALL_TESTS();
}
