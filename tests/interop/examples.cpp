// The two programs of examples/redis, as somebody would run them: at the same time, on one counter.

#include "interop/peer.hpp"
#include "promise.hpp"
#include "servers/folder.hpp"
#include "servers/redis.hpp"

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

#include <gmock/gmock.h>

#include <fstream>

using namespace std::chrono_literals;

namespace holdfast::interop {
namespace {

using testing::HasSubstr;

class examples : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        HOLDFAST_NEEDS(servers::redis_server::missing());
        HOLDFAST_NEEDS(peer::redisson_missing(GetParam()));
    }

    [[nodiscard]] static cli_tests::program start(std::vector<std::string> command) {
        command.insert(command.begin(), {"setpriv", "--pdeathsig", "KILL"});
        return cli_tests::program{command};
    }
    [[nodiscard]] static cli_tests::outcome end_of(cli_tests::program& one) {
        EXPECT_TRUE(cli_tests::comes_true(3min, [&] { return !one.runs_for(0ms); }));
        return one.end();
    }
};

TEST_P(examples, cpp_and_java_add_to_one_counter_and_lose_nothing) {
    const servers::redis_server server;
    const servers::folder room;
    const auto counter = room / "counter";
    const auto url = server.url();
    constexpr int times = 300;

    // Both wait behind us, so that neither is done before the other has begun.
    const auto client = open(url + "?quarantine=0");
    mutex turn{client, "counter"};
    auto ours = turn.acquire();
    const auto before = ours.fence();
    auto java = start({HOLDFAST_INTEROP "/redisson/peer",
                       "java",
                       GetParam(),
                       HOLDFAST_SHARE_WITH_CPP,
                       url,
                       std::to_string(times),
                       counter});
    auto cpp =
        start({HOLDFAST_SHARE_WITH_JAVA, url + "?quarantine=0", std::to_string(times), counter});
    const auto both_listen = [&] {
        const auto count =
            server.ask({"PUBSUB", "NUMSUB", "redisson_lock__channel:{counter}"}).items;
        return count.size() == 2 && count[1].number == 2;
    };
    ASSERT_TRUE(cli_tests::comes_true(3min, both_listen))
        << (java.runs_for(0ms) ? "" : java.end().err) << (cpp.runs_for(0ms) ? "" : cpp.end().err);
    ASSERT_EQ(ours.release(), release_result::released);

    const auto of_java = end_of(java);
    const auto of_cpp = end_of(cpp);
    ASSERT_EQ(of_java.code, 0) << of_java.err;
    ASSERT_EQ(of_cpp.code, 0) << of_cpp.err;
    EXPECT_THAT(of_java.out, HasSubstr("Java: 300 turns done, fence "));
    EXPECT_THAT(of_cpp.out, HasSubstr("C++: 300 turns done, fence "));
    int count = 0;
    std::ifstream{counter} >> count;
    EXPECT_EQ(count, 2 * times) << promise_broken;
    EXPECT_THAT(of_java.out + of_cpp.out, HasSubstr("counter 600\n")) << "the last one saw it";
    EXPECT_GT(turn.acquire().fence(), before) << promise_broken;
}

INSTANTIATE_TEST_SUITE_P(redisson,
                         examples,
                         testing::ValuesIn(redisson_versions_to_test()),
                         version_as_name);

} // namespace
} // namespace holdfast::interop
