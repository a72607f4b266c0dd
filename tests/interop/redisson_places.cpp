// Redisson where servers are not alone, not open, or not to be trusted.

#include "interop/dump.hpp"
#include "interop/peer.hpp"
#include "promise.hpp"
#include "servers/certificates.hpp"
#include "servers/redis_cluster.hpp"
#include "servers/redis_sentinels.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace holdfast::interop {
namespace {

using namespace std::chrono_literals;
using namespace servers;

class redisson_places : public ::testing::Test {
protected:
    void SetUp() override {
        HOLDFAST_NEEDS(redis_server::missing());
        HOLDFAST_NEEDS(peer::redisson_missing());
        java.emplace(peer::redisson());
    }
    std::optional<peer> java;
};

TEST_F(redisson_places, behind_tls_and_a_password) {
    const auto& papers = our_certificates();
    const redis_server server{
        {.over = encryption::mutual_tls, .password = "secret", .user = "alice"}};
    const auto place =
        " single retries=0 timeout_ms=2000 address=" + server.address() + " ca=" + papers.authority;
    const auto papers_of_ours =
        " keystore=" + papers.client_keystore + " keystore_word=" + papers.client_keystore_word;
    java->ask("client c1" + place + papers_of_ours + " user=alice password=secret");
    java->ask("lock c1 h1 plain orders");
    EXPECT_EQ(server.ask({"HLEN", "orders"}).number, 1);
    EXPECT_THROW(java->ask("client c2" + place + papers_of_ours + " user=alice password=wrong"),
                 std::runtime_error);
    EXPECT_THROW(java->ask("client c3" + place + " user=alice password=secret"),
                 std::runtime_error);
}

bool mention(const std::vector<std::string>& lines, const std::string& text) {
    return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
        return line.find(text) != std::string::npos;
    });
}

TEST_F(redisson_places, behind_sentinels_before_and_after_a_fail_over) {
    redis_sentinels group;
    const auto place = std::string{" sentinel master="} + redis_sentinels::name +
                       " address=" + group.sentinel_addresses();
    java->ask("client c1" + place);
    java->ask("client c2" + place);
    eavesdropper ears{group.primary()};
    java->ask("lock c1 h1 plain orders");
    EXPECT_EQ(java->ask("trylock c2 h1 plain orders 0 10000"), "no");
    {
        monitor commands{group.primary()};
        java->ask("unlock c1 h1 plain orders");
        EXPECT_TRUE(mention(commands.so_far(), "\"WAIT\" \"1\" \"1000\"")); // for the replica
    }
    // Between them the Sentinels greet each other.
    std::optional<std::string> heard;
    do
        heard = ears.next();
    while (heard && heard->starts_with("__sentinel__"));
    EXPECT_EQ(heard.value_or(""), "redisson_lock__channel:{orders} 0");

    java->ask("lock c1 h1 plain orders");
    group.fail_over();
    EXPECT_TRUE(cli_tests::comes_true(
        20s, [&] { return java->ask("trylock c2 h1 plain others 1000 10000") == "yes"; }));
    EXPECT_EQ(group.primary().ask({"EXISTS", "orders", "others"}).number, 2);
    EXPECT_EQ(java->ask("trylock c2 h1 plain orders 0 10000"), "no");
}

TEST_F(redisson_places, in_a_cluster_where_channels_are_sharded) {
    redis_cluster cluster;
    const auto place = " cluster address=" + cluster.addresses();
    java->ask("client c1" + place);
    java->ask("client c2" + place);
    auto& home = cluster.node_of("orders");
    auto link = home.link();
    link.ask({"SSUBSCRIBE", "redisson_lock__channel:{orders}"});
    java->ask("lock c1 h1 plain orders");
    const auto waiting = java->begin("lock c2 h1 plain orders");
    EXPECT_TRUE(cli_tests::comes_true(30s, [&] {
        return to_string(home.ask({"PUBSUB", "SHARDNUMSUB", "redisson_lock__channel:{orders}"})) ==
               "[redisson_lock__channel:{orders}, 2]";
    }));
    eavesdropper ears{home}; // hears none of it
    java->ask("unlock c1 h1 plain orders");
    EXPECT_EQ(to_string(link.hear().value()), "[smessage, redisson_lock__channel:{orders}, 0]");
    EXPECT_TRUE(ears.is_silent());
    java->end(waiting, 5s);
    java->ask("unlock c2 h1 plain orders");

    // Names all over the cluster.
    std::vector<peer::ticket> all;
    for (const std::string name : {"a", "b", "c", "d"})
        for (const std::string client : {"c1", "c2"})
            all.push_back(
                java->begin("count", client, "h" + name, "plain", name, "counter-" + name, "20"));
    for (const auto one : all)
        java->end(one);
    for (const std::string name : {"a", "b", "c", "d"}) {
        const auto key = "counter-" + name;
        EXPECT_EQ(cluster.node_of(key).ask({"GET", key}).text, "40") << promise_broken;
    }
}

} // namespace
} // namespace holdfast::interop
