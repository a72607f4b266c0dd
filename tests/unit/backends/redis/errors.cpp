#include "backends/redis/errors.hpp"

#include <gtest/gtest.h>

namespace holdfast::redis::test {
namespace {

TEST(redis_errors, mean_one_thing_each) {
    const struct {
        const char* error;
        errc code;
        applied effect;
    } all[] = {
        {"NOAUTH Authentication required.", errc::backend_refused, applied::no},
        {"WRONGPASS invalid username-password pair", errc::backend_refused, applied::no},
        {"NOPERM this user has no permissions", errc::backend_refused, applied::no},
        {"DENIED Redis is running in protected mode", errc::backend_refused, applied::no},
        {"WRONGTYPE Operation against a key", errc::backend_refused, applied::no},
        {"CROSSSLOT Keys in request don't hash", errc::bad_name, applied::no},
        {"LOADING Redis is loading", errc::backend_unavailable, applied::no},
        {"READONLY You can't write", errc::backend_unavailable, applied::no},
        {"MASTERDOWN Link with MASTER is down", errc::backend_unavailable, applied::no},
        {"CLUSTERDOWN The cluster is down", errc::backend_unavailable, applied::no},
        {"TRYAGAIN Multiple keys", errc::backend_unavailable, applied::no},
        {"MOVED 3999 127.0.0.1:6381", errc::backend_unavailable, applied::no},
        {"ASK 3999 127.0.0.1:6381", errc::backend_unavailable, applied::no},
        {"BUSY Redis is busy running a script", errc::backend_unavailable, applied::no},
        {"NOREPLICAS Not enough good replicas", errc::backend_unavailable, applied::no},
        {"MISCONF Redis is configured to save", errc::backend_unavailable, applied::no},
        {"OOM command not allowed", errc::backend_unavailable, applied::no},
        {"ERR max number of clients reached", errc::backend_unavailable, applied::no},
        {"ERR something else", errc::backend_refused, applied::maybe},
        {"", errc::backend_refused, applied::maybe},
        {"NOAUTHX", errc::backend_refused, applied::maybe},
    };
    for (const auto& one : all) {
        const auto f = failure_of(one.error);
        EXPECT_EQ(f.code, make_error_code(one.code)) << one.error;
        EXPECT_EQ(f.applied, one.effect) << one.error;
    }
}

TEST(redis_errors, inside_a_script_of_version_6_are_unwrapped) {
    const auto f =
        failure_of("ERR Error running script (call to f_6b1bf486c81ceb7edf3c093f4c48582e38c0e791): "
                   "@user_script:9: WRONGTYPE Operation against a key");
    EXPECT_EQ(f.code, make_error_code(errc::backend_refused));
    EXPECT_EQ(f.applied, applied::no);
    EXPECT_EQ(
        failure_of("ERR Error running script (call to f_1): @user_script: 9: -READONLY You").code,
        make_error_code(errc::backend_unavailable));
    for (const char* const odd : {"ERR Error running script",
                                  "ERR Error running script @user_script:",
                                  "ERR Error running script @user_script:1: ",
                                  "ERR Error running script @user_script:1: - - "})
        EXPECT_EQ(failure_of(odd).applied, applied::maybe) << odd;
}

TEST(redis_errors, of_any_length_stay_readable) {
    EXPECT_LE(failure_of("ERR " + std::string(100'000, 'x')).detail.size(), 300U);
    EXPECT_LE(failure_of("BUSY " + std::string(100'000, 'x')).detail.size(), 300U);
    EXPECT_EQ(not_understood().applied, applied::maybe);
}

} // namespace
} // namespace holdfast::redis::test
