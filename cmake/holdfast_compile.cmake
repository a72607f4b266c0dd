# How every target of ours is compiled. Nothing here reaches a user of the installed library.

# holdfast_compile(<target>): C++20, our warnings, short file names in assertions.
# Whether a warning is an error is the preset's business (CMAKE_COMPILE_WARNING_AS_ERROR).
function(holdfast_compile target)
    target_compile_features(${target} PRIVATE cxx_std_20)
    set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
    # False positives in GCC 12: -Wnull-dereference (so it is left out), -Wmismatched-new-delete (the frames of
    # coroutines), -Wrestrict (a literal + a string).
    target_compile_options(${target} PRIVATE
        -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wnon-virtual-dtor
        -Wno-mismatched-new-delete
        -Wno-restrict
        "-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=")
endfunction()

# holdfast_program(<target> SOURCES … LINK …): an executable that is not installed, such as a test.
function(holdfast_program target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
    add_executable(${target} ${arg_SOURCES})
    holdfast_compile(${target})
    target_link_libraries(${target} PRIVATE ${arg_LINK})
endfunction()
