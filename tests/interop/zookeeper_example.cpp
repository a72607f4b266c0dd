// The two programs of examples/zookeeper.

#include "interop/example.hpp"
#include "servers/zookeeper.hpp"
#include "servers/zookeeper_tree.hpp"

namespace holdfast::interop {
namespace {

class zookeeper_examples : public examples {
protected:
    void SetUp() override {
        HOLDFAST_NEEDS(servers::zookeeper_server::missing());
        HOLDFAST_NEEDS(peer::curator_missing(GetParam()));
    }
};

TEST_P(zookeeper_examples, cpp_and_java_add_to_one_counter_and_lose_nothing) {
    const servers::zookeeper_server server;
    servers::zookeeper_tree tree{server.address()};
    const auto client = open(server.url());
    mutex turn{client, "/counter"};
    expect_that_they_lose_nothing(turn,
                                  {HOLDFAST_INTEROP "/curator/peer",
                                   "java",
                                   GetParam(),
                                   HOLDFAST_SHARE_WITH_CPP,
                                   server.address()},
                                  {HOLDFAST_SHARE_WITH_CURATOR, server.url()},
                                  [&] { return tree.children("/counter").size() == 3; });
}

INSTANTIATE_TEST_SUITE_P(curator,
                         zookeeper_examples,
                         testing::ValuesIn(curator_versions_to_test()),
                         version_as_name);

} // namespace
} // namespace holdfast::interop
