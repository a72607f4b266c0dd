#pragma once

// The two programs of an example, as somebody would run them: at the same time, on one counter.

#include "interop/peer.hpp"
#include "promise.hpp"
#include "servers/folder.hpp"

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

#include <gmock/gmock.h>

#include <fstream>
#include <functional>
#include <string>
#include <vector>

namespace holdfast::interop {

class examples : public testing::TestWithParam<std::string> {
protected:
    static constexpr int times = 300;

    /// Both wait behind `turn`, so that neither is done before the other has begun.
    static void expect_that_they_lose_nothing(mutex& turn,
                                              std::vector<std::string> of_java,
                                              std::vector<std::string> of_cpp,
                                              const std::function<bool()>& both_wait) {
        using namespace std::chrono_literals;
        using testing::HasSubstr;
        const servers::folder room;
        const auto counter = room / "counter";
        auto ours = turn.acquire();
        const auto before = ours.fence();
        of_java.insert(of_java.end(), {std::to_string(times), counter});
        of_cpp.insert(of_cpp.end(), {std::to_string(times), counter});
        auto java = start(of_java);
        auto cpp = start(of_cpp);
        ASSERT_TRUE(cli_tests::comes_true(3min, both_wait))
            << (java.runs_for(0ms) ? "" : java.end().err)
            << (cpp.runs_for(0ms) ? "" : cpp.end().err);
        ASSERT_EQ(ours.release(), release_result::released);

        const auto java_said = end_of(java);
        const auto cpp_said = end_of(cpp);
        ASSERT_EQ(java_said.code, 0) << java_said.err;
        ASSERT_EQ(cpp_said.code, 0) << cpp_said.err;
        EXPECT_THAT(java_said.out, HasSubstr("Java: 300 turns done"));
        EXPECT_THAT(cpp_said.out, HasSubstr("C++: 300 turns done, fence "));
        int count = 0;
        std::ifstream{counter} >> count;
        EXPECT_EQ(count, 2 * times) << promise_broken;
        EXPECT_THAT(java_said.out + cpp_said.out, HasSubstr("counter 600\n"))
            << "the last one saw it";
        EXPECT_GT(turn.acquire().fence(), before) << promise_broken;
    }

private:
    [[nodiscard]] static cli_tests::program start(std::vector<std::string> command) {
        command.insert(command.begin(), {"setpriv", "--pdeathsig", "KILL"});
        return cli_tests::program{command};
    }
    [[nodiscard]] static cli_tests::outcome end_of(cli_tests::program& one) {
        EXPECT_TRUE(cli_tests::comes_true(
            std::chrono::minutes{3}, [&] { return !one.runs_for(std::chrono::milliseconds{}); }));
        return one.end();
    }
};

} // namespace holdfast::interop
