# GoogleTest programs, each test of them a test of CTest, so that one can be run, filtered and timed alone.
find_package(GTest REQUIRED)
include(GoogleTest)

# holdfast_test(<target> LABEL unit SOURCES … LINK … [TIMEOUT seconds] [ENVIRONMENT NAME=value …] [SERIAL])
#
# The label says in which runs of ./dev test it takes part. SERIAL: beside another test it would measure that one too.
function(holdfast_test target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "SERIAL" "LABEL;TIMEOUT" "SOURCES;LINK;ENVIRONMENT")
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 120)
    endif()
    holdfast_program(${target} SOURCES ${arg_SOURCES} LINK ${arg_LINK} GTest::gmock GTest::gtest_main)
    target_include_directories(${target} PRIVATE
        "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tests" "${PROJECT_SOURCE_DIR}")
    set(properties LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT})
    if(arg_SERIAL)
        list(APPEND properties RUN_SERIAL TRUE)
    endif()
    if(arg_ENVIRONMENT)
        list(APPEND properties ENVIRONMENT "${arg_ENVIRONMENT}")
    endif()
    # PRE_TEST: asked for its list by ctest, not by the build, which may build only some of the programs.
    gtest_discover_tests(${target}
        TEST_PREFIX ${arg_LABEL}.
        NO_PRETTY_VALUES
        DISCOVERY_MODE PRE_TEST
        DISCOVERY_TIMEOUT 60
        PROPERTIES ${properties})
endfunction()
