// The two programs of examples/redis.

#include "interop/example.hpp"
#include "servers/redis.hpp"

namespace holdfast::interop {
namespace {

class redis_examples : public examples {
protected:
    void SetUp() override {
        HOLDFAST_NEEDS(servers::redis_server::missing());
        HOLDFAST_NEEDS(peer::redisson_missing(GetParam()));
    }
};

TEST_P(redis_examples, cpp_and_java_add_to_one_counter_and_lose_nothing) {
    const servers::redis_server server;
    const auto url = server.url();
    const auto client = open(url + "?quarantine=0");
    mutex turn{client, "counter"};
    expect_that_they_lose_nothing(
        turn,
        {HOLDFAST_INTEROP "/redisson/peer", "java", GetParam(), HOLDFAST_SHARE_WITH_CPP, url},
        {HOLDFAST_SHARE_WITH_JAVA, url + "?quarantine=0"},
        [&] {
            const auto count =
                server.ask({"PUBSUB", "NUMSUB", "redisson_lock__channel:{counter}"}).items;
            return count.size() == 2 && count[1].number == 2;
        });
}

INSTANTIATE_TEST_SUITE_P(redisson,
                         redis_examples,
                         testing::ValuesIn(redisson_versions_to_test()),
                         version_as_name);

} // namespace
} // namespace holdfast::interop
