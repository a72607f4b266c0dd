#include "conformance/child.hpp"

#include <gtest/gtest.h>

int main(int argc, char** argv) {
    if (const int status = holdfast::conformance::work_if_child(argc, argv); status >= 0)
        return status;
    ::testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
