#include "gate/gated_ensemble.hpp"
#include "servers/zookeeper_tree.hpp"

#include <gtest/gtest.h>

namespace holdfast::servers {
namespace {

using namespace std::chrono_literals;

TEST(gated_ensemble, has_a_follower_that_serves_while_it_misses_its_leader) {
    HOLDFAST_NEEDS(zookeeper_server::missing());
    gated_ensemble ensemble{{.settings = {"syncLimit=50"}}}; // ten seconds
    auto& all = ensemble.all;
    const auto leads = all.leader();
    const auto follows = all.follower();
    zookeeper_tree at_leader{all.member(leads).address()};
    zookeeper_tree at_follower{all.member(follows).address()};
    at_leader.create("/news", "old");
    ASSERT_TRUE(cli_tests::comes_true(10s, [&] { return at_follower.has("/news"); }));

    ensemble.separate(leads, follows);
    at_leader.write("/news", "new"); // the third one is enough
    EXPECT_EQ(at_follower.at("/news")->data, "old");
    EXPECT_TRUE(cli_tests::comes_true(60s, [&] { return all.member(follows).mode().empty(); }));
    EXPECT_EQ(all.leader(), leads);

    ensemble.join(leads, follows);
    EXPECT_TRUE(
        cli_tests::comes_true(60s, [&] { return all.member(follows).mode() == "follower"; }));
    EXPECT_EQ(at_follower.at("/news")->data, "new");
}

} // namespace
} // namespace holdfast::servers
