// Curator and we ask each other to give a lock back: a request, written into the holder's node.

#include "interop/both_on_zookeeper.hpp"

namespace holdfast::interop {
namespace {

class zookeeper_revoke : public with_both_on_zookeeper {
protected:
    [[nodiscard]] servers::znode holder() { return tree->nodes_in("/orders").at(0); }
};

INSTANTIATE_TEST_SUITE_P(real,
                         zookeeper_revoke,
                         ::testing::ValuesIn(curator_versions_to_test()),
                         version_as_name);

TEST_P(zookeeper_revoke, we_hear_that_java_would_like_to_have_it) {
    for (const std::string kind : {"mutex", "write", "read"}) {
        ours->ask("lock c1 h1", kind, "/orders");
        EXPECT_EQ(ours->ask("revoked c1 h2 /orders 0"), "no") << kind;
        java->ask("revoke c1 h1", holder().path);
        EXPECT_EQ(ours->ask("revoked c1 h2 /orders 20000"), "yes") << kind;
        EXPECT_EQ(holder().data, "__REVOKE__") << kind;
        EXPECT_EQ(ours->ask("held c1 h1", kind, "/orders"), "yes") << "no more than asked";
        EXPECT_EQ(java->ask("trylock c1 h1", kind == "read" ? "write" : kind, "/orders 100"), "no");
        EXPECT_NO_THROW(ours->ask("unlock c1 h1", kind, "/orders")) << kind;
        EXPECT_EQ(java->ask("trylock c1 h1", kind, "/orders 20000"), "yes") << kind;
        java->ask("unlock c1 h1", kind, "/orders");
    }
}

TEST_P(zookeeper_revoke, java_hears_that_we_would_like_to_have_it) {
    java->ask("revocable c1 h1 /orders");
    java->ask("lock c1 h1 mutex /orders");
    EXPECT_EQ(java->ask("revoked c1 h2 /orders 0"), "no");
    EXPECT_EQ(ours->ask("revoke c1 h1 /orders"), "1");
    EXPECT_EQ(java->ask("revoked c1 h2 /orders 20000"), "yes");
    EXPECT_EQ(holder().data, "__REVOKE__");
    EXPECT_EQ(java->ask("held c1 h1 mutex /orders"), "true true") << "no more than asked";
    const auto waiting = ours->begin("lock c1 h1 mutex /orders");
    EXPECT_FALSE(ours->has_answered(waiting, std::chrono::milliseconds{100}));
    java->ask("unlock c1 h1 mutex /orders");
    EXPECT_NO_THROW(ours->end(waiting));
}

TEST_P(zookeeper_revoke, who_cannot_hear_it_goes_on) {
    EXPECT_EQ(ours->ask("revoke c1 h1 /orders"), "0") << "nobody holds it";
    java->ask("lock c1 h1 mutex /orders"); // without a listener
    EXPECT_EQ(ours->ask("revoke c1 h1 /orders"), "1");
    const auto waiting = ours->begin("lock c1 h1 mutex /orders");
    EXPECT_FALSE(ours->has_answered(waiting, std::chrono::milliseconds{100}));
    EXPECT_EQ(java->ask("held c1 h1 mutex /orders"), "true true");
    java->ask("unlock c1 h1 mutex /orders");
    EXPECT_NO_THROW(ours->end(waiting));
}

TEST_P(zookeeper_revoke, who_waits_is_not_asked) {
    java->ask("revocable c2 h1 /orders");
    ours->ask("lock c1 h1 mutex /orders");
    const auto waiting = java->begin("lock c2 h1 mutex /orders");
    ASSERT_TRUE(has_children("/orders", 2)) << dump(*tree);
    EXPECT_EQ(ours->ask("revoke c2 h1 /orders"), "1");
    EXPECT_EQ(ours->ask("revoked c1 h2 /orders 20000"), "yes");
    ours->ask("unlock c1 h1 mutex /orders");
    java->end(waiting);
    EXPECT_EQ(java->ask("revoked c2 h2 /orders 100"), "no");
    EXPECT_EQ(holder().data, "");
}

} // namespace
} // namespace holdfast::interop
