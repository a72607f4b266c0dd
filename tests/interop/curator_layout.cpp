// What the real Curator writes into ZooKeeper, step by step: the layout that we share.

#include "interop/curator.hpp"

namespace holdfast::interop {
namespace {

using namespace std::chrono_literals;

class curator_layout : public with_curator {
protected:
    /// The only node of this client, or its newest.
    [[nodiscard]] std::string node_of(const std::string& client, const std::string& parent) {
        servers::znode newest;
        for (const auto& node : tree->nodes_in(parent))
            if (renamed(session_text(node.owner), called) == client &&
                node.created_by > newest.created_by)
                newest = node;
        return newest.path;
    }

    [[nodiscard]] std::vector<std::string> watches() const {
        auto all = interop::watches(*server);
        for (auto& one : all)
            one = renamed(one, called);
        return all;
    }
    void expect_watches(const std::vector<std::string>& expected) {
        std::vector<std::string> last;
        EXPECT_TRUE(cli_tests::comes_true(10s, [&] { return (last = watches()) == expected; }))
            << ::testing::PrintToString(last);
    }
};

INSTANTIATE_TEST_SUITE_P(real,
                         curator_layout,
                         ::testing::ValuesIn(curator_versions_to_test()),
                         version_as_name);

TEST_P(curator_layout, of_a_mutex) {
    java->ask("lock c1 h1 mutex /orders");
    const std::string held = "/orders\n  _c_*-lock-0000000000 c1 = ADDRESS\n";
    expect(held);
    java->ask("lock c1 h1 mutex /orders"); // again: known to Curator alone
    expect(held);
    EXPECT_EQ(java->ask("trylock c2 h1 mutex /orders 0"), "no");
    expect(held);
    java->ask("unlock c1 h1 mutex /orders");
    expect(held);
    EXPECT_EQ(java->ask("held c1 h1 mutex /orders"), "true true");
    EXPECT_EQ(java->ask("held c1 h2 mutex /orders"), "false true");
    java->ask("unlock c1 h1 mutex /orders");
    expect("/orders\n");
    EXPECT_EQ(java->ask("held c1 h1 mutex /orders"), "false false");
    EXPECT_THROW(java->ask("unlock c1 h1 mutex /orders"), std::runtime_error);
    java->ask("lock c2 h1 mutex /orders"); // whoever came in vain has used a number too
    expect("/orders\n  _c_*-lock-0000000002 c2 = ADDRESS\n");
}

TEST_P(curator_layout, of_a_queue) {
    java->ask("lock c1 h1 mutex /orders");
    const auto second = java->begin("lock c2 h1 mutex /orders");
    expect("/orders\n"
           "  _c_*-lock-0000000000 c1 = ADDRESS\n"
           "  _c_*-lock-0000000001 c2 = ADDRESS\n");
    const auto third = java->begin("lock c1 h2 mutex /orders"); // each hand has a node of its own
    expect("/orders\n"
           "  _c_*-lock-0000000000 c1 = ADDRESS\n"
           "  _c_*-lock-0000000001 c2 = ADDRESS\n"
           "  _c_*-lock-0000000002 c1 = ADDRESS\n");
    EXPECT_EQ(java->ask("trylock c2 h2 mutex /orders 100"), "no"); // gives its place back
    expect("/orders\n"
           "  _c_*-lock-0000000000 c1 = ADDRESS\n"
           "  _c_*-lock-0000000001 c2 = ADDRESS\n"
           "  _c_*-lock-0000000002 c1 = ADDRESS\n");
    java->ask("unlock c1 h1 mutex /orders");
    java->end(second);
    expect("/orders\n"
           "  _c_*-lock-0000000001 c2 = ADDRESS\n"
           "  _c_*-lock-0000000002 c1 = ADDRESS\n");
    EXPECT_FALSE(java->has_answered(third));
    java->ask("unlock c2 h1 mutex /orders");
    java->end(third);
    expect("/orders\n  _c_*-lock-0000000002 c1 = ADDRESS\n");
}

TEST_P(curator_layout, of_watches_on_the_one_ahead_alone) {
    java->ask("lock c1 h1 mutex /orders");
    const auto first = node_of("c1", "/orders");
    const auto second = java->begin("lock c2 h1 mutex /orders");
    expect_watches({first + " by c2"});
    const auto ahead = node_of("c2", "/orders");
    const auto third = java->begin("lock c1 h2 mutex /orders");
    std::vector<std::string> both{first + " by c2", ahead + " by c1"};
    std::vector<std::string> other{ahead + " by c1", first + " by c2"};
    EXPECT_TRUE(cli_tests::comes_true(10s, [&] {
        const auto now = watches(); // in no order
        return now == both || now == other;
    }));
    java->ask("unlock c1 h1 mutex /orders");
    java->end(second);
    expect_watches({ahead + " by c1"});
    java->ask("unlock c2 h1 mutex /orders");
    java->end(third);
}

TEST_P(curator_layout, of_parents) {
    java->ask("lock c1 h1 mutex /shop/orders/42");
    expect("/shop\n/shop/orders\n/shop/orders/42\n  _c_*-lock-0000000000 c1 = ADDRESS\n");
}

TEST_P(curator_layout, of_a_namespace) {
    java->ask("client n zookeeper namespace=shop session_ms=6000 address=" + server->address());
    call("n");
    java->ask("lock n h1 mutex /orders");
    expect("/shop\n/shop/orders\n  _c_*-lock-0000000000 n = ADDRESS\n");
}

TEST_P(curator_layout, of_a_chroot) {
    java->ask("client n zookeeper session_ms=6000 address=" + server->address() + "/shop");
    call("n");
    tree->create("/shop");
    java->ask("lock n h1 mutex /orders");
    expect("/shop\n/shop/orders\n  _c_*-lock-0000000000 n = ADDRESS\n");
}

TEST_P(curator_layout, of_a_mutex_that_can_be_revoked) {
    java->ask("revocable c1 h1 /orders");
    java->ask("lock c1 h1 mutex /orders");
    expect("/orders\n  _c_*-lock-0000000000 c1\n"); // without data
    EXPECT_EQ(java->ask("revoked c1 h2 /orders 0"), "no");
    java->ask("revoke c2 h1 " + node_of("c1", "/orders"));
    EXPECT_EQ(java->ask("revoked c1 h2 /orders 10000"), "yes");
    expect("/orders\n  _c_*-lock-0000000000 c1 = __REVOKE__\n"); // no more than asked
    EXPECT_EQ(java->ask("held c1 h1 mutex /orders"), "true true");
    java->ask("revoke c2 h1 " + node_of("c1", "/orders"));
    EXPECT_EQ(java->ask("revoked c1 h2 /orders 10000"), "yes") << "each time";
    java->ask("unlock c1 h1 mutex /orders");
    expect("/orders\n");

    java->ask("lock c2 h1 mutex /orders"); // one that cannot be revoked
    java->ask("revoke c1 h1 " + node_of("c2", "/orders"));
    expect("/orders\n  _c_*-lock-0000000001 c2 = __REVOKE__\n");
    java->ask("unlock c2 h1 mutex /orders");
}

TEST_P(curator_layout, of_readers_and_writers) {
    java->ask("lock c1 h1 read /orders");
    java->ask("lock c2 h1 read /orders");
    const auto writer = java->begin("lock c1 h2 write /orders");
    const std::string waiting = "/orders\n"
                                "  _c_*-__READ__0000000000 c1 = ADDRESS\n"
                                "  _c_*-__READ__0000000001 c2 = ADDRESS\n"
                                "  _c_*-__WRIT__0000000002 c1 = ADDRESS\n";
    expect(waiting);
    EXPECT_EQ(java->ask("trylock c2 h2 read /orders 100"), "no") << "a writer waits before it";
    expect(waiting);
    java->ask("unlock c1 h1 read /orders");
    java->ask("unlock c2 h1 read /orders");
    java->end(writer);
    expect("/orders\n  _c_*-__WRIT__0000000002 c1 = ADDRESS\n");
    EXPECT_EQ(java->ask("trylock c2 h1 read /orders 0"), "no");
    EXPECT_EQ(java->ask("trylock c2 h1 write /orders 0"), "no");
    java->ask("unlock c1 h2 write /orders");
    expect("/orders\n");
}

TEST_P(curator_layout, of_a_reader_that_waits_for_the_first_writer) {
    java->ask("lock c1 h1 write /orders");
    const auto writing = node_of("c1", "/orders");
    const auto second = java->begin("lock c2 h1 write /orders");
    expect_watches({writing + " by c2"});
    const auto reader = java->begin("lock c2 h2 read /orders"); // not for the nearest
    expect("/orders\n"
           "  _c_*-__WRIT__0000000000 c1 = ADDRESS\n"
           "  _c_*-__WRIT__0000000001 c2 = ADDRESS\n"
           "  _c_*-__READ__0000000002 c2 = ADDRESS\n");
    expect_watches({writing + " by c2"});
    java->ask("unlock c1 h1 write /orders");
    java->end(second);
    EXPECT_FALSE(java->has_answered(reader, 100ms));
    java->ask("unlock c2 h1 write /orders");
    java->end(reader);
}

TEST_P(curator_layout, of_a_writer_who_becomes_a_reader) {
    java->ask("lock c1 h1 write /orders");
    const auto next = java->begin("lock c2 h1 write /orders");
    expect("/orders\n"
           "  _c_*-__WRIT__0000000000 c1 = ADDRESS\n"
           "  _c_*-__WRIT__0000000001 c2 = ADDRESS\n");
    java->ask("lock c1 h1 read /orders");
    if (is_newest()) { // with the number of the writer, so before all who wait
        expect("/orders\n"
               "  _c_*-__WRIT__0000000000 c1 = ADDRESS\n"
               "  _c_*-__WRIT__0000000001 c2 = ADDRESS\n"
               "  _c_*-__READ__0000000000 c1 = ADDRESS\n");
        java->ask("unlock c1 h1 write /orders");
        EXPECT_FALSE(java->has_answered(next, 200ms));
        java->ask("unlock c1 h1 read /orders");
        java->end(next);
    } else { // behind them: the next one writes while it reads (CURATOR-621)
        expect("/orders\n"
               "  _c_*-__WRIT__0000000000 c1 = ADDRESS\n"
               "  _c_*-__WRIT__0000000001 c2 = ADDRESS\n"
               "  _c_*-__READ__0000000002 c1 = ADDRESS\n");
        java->ask("unlock c1 h1 write /orders");
        java->end(next);
        EXPECT_EQ(java->ask("held c1 h1 read /orders"), "true true");
    }
}

TEST_P(curator_layout, of_leases) {
    for (const std::string client : {"c1", "c2"})
        java->ask("permit", client, "h1 set /tickets 2");
    const auto first = java->ask("permit c1 h1 acquire /tickets");
    EXPECT_EQ("/tickets/leases/" + first, node_of("c1", "/tickets/leases"));
    java->ask("permit c2 h1 acquire /tickets");
    const std::string both = "/tickets\n"
                             "/tickets/leases\n"
                             "  _c_*-lease-0000000000 c1 = ADDRESS\n"
                             "  _c_*-lease-0000000001 c2 = ADDRESS\n"
                             "/tickets/locks\n";
    expect(both);
    const auto waiting = java->begin("permit c2 h2 acquire /tickets");
    expect("/tickets\n"
           "/tickets/leases\n"
           "  _c_*-lease-0000000000 c1 = ADDRESS\n"
           "  _c_*-lease-0000000001 c2 = ADDRESS\n"
           "  _c_*-lease-0000000002 c2 = ADDRESS\n" // there, but not granted
           "/tickets/locks\n"
           "  _c_*-lock-0000000002 c2 = ADDRESS\n"); // and nobody else may ask meanwhile
    EXPECT_EQ(java->ask("permit c1 h2 tryacquire /tickets 100"), "null");
    java->ask("permit c1 h1 release /tickets", first);
    java->end(waiting);
    expect("/tickets\n"
           "/tickets/leases\n"
           "  _c_*-lease-0000000001 c2 = ADDRESS\n"
           "  _c_*-lease-0000000002 c2 = ADDRESS\n"
           "/tickets/locks\n");
    EXPECT_EQ(java->ask("permit c1 h2 tryacquire /tickets 100"), "null");
    expect("/tickets\n"
           "/tickets/leases\n"
           "  _c_*-lease-0000000001 c2 = ADDRESS\n"
           "  _c_*-lease-0000000002 c2 = ADDRESS\n"
           "/tickets/locks\n");
}

TEST_P(curator_layout, of_a_mutex_that_is_a_semaphore) {
    java->ask("lock c1 h1 semaphore_mutex /orders");
    const std::string held = "/orders\n"
                             "/orders/leases\n"
                             "  _c_*-lease-0000000000 c1 = ADDRESS\n"
                             "/orders/locks\n";
    expect(held);
    EXPECT_EQ(java->ask("trylock c1 h1 semaphore_mutex /orders 100"), "no") << "not reentrant";
    EXPECT_EQ(java->ask("trylock c2 h1 semaphore_mutex /orders 0"), "no");
    expect(held);
    java->ask("unlock c1 h2 semaphore_mutex /orders"); // by any hand
    expect("/orders\n/orders/leases\n/orders/locks\n");
}

TEST_P(curator_layout, of_several_as_one) {
    java->ask("lock c1 h1 multi /orders,/bills");
    expect("/bills\n"
           "  _c_*-lock-0000000000 c1 = ADDRESS\n"
           "/orders\n"
           "  _c_*-lock-0000000000 c1 = ADDRESS\n");
    EXPECT_EQ(java->ask("trylock c2 h1 multi /users,/bills 100"), "no");
    expect("/bills\n"
           "  _c_*-lock-0000000000 c1 = ADDRESS\n"
           "/orders\n"
           "  _c_*-lock-0000000000 c1 = ADDRESS\n"
           "/users\n");
    java->ask("unlock c1 h1 multi /orders,/bills");
    expect("/bills\n/orders\n/users\n");
}

class curator_containers : public curator_layout {
    [[nodiscard]] servers::zookeeper_options options() const override {
        return {.properties = {"znode.container.checkIntervalMs=100"}};
    }
};

INSTANTIATE_TEST_SUITE_P(real,
                         curator_containers,
                         ::testing::ValuesIn(curator_versions_to_test()),
                         version_as_name);

TEST_P(curator_containers, are_what_parents_are) {
    java->ask("lock c1 h1 mutex /shop/orders/42");
    java->ask("lock c1 h1 read /shop/bills/42");
    java->ask("lock c1 h1 semaphore_mutex /users/42");
    java->ask("unlock c1 h1 mutex /shop/orders/42");
    java->ask("unlock c1 h1 read /shop/bills/42");
    java->ask("unlock c1 h1 semaphore_mutex /users/42");
    ASSERT_TRUE(cli_tests::comes_true(30s, [&] { return tree->below("/").empty(); }))
        << dump(*tree, called);
    java->ask("lock c1 h1 mutex /shop/orders/42"); // numbers begin anew
    expect("/shop\n/shop/orders\n/shop/orders/42\n  _c_*-lock-0000000000 c1 = ADDRESS\n");
}

} // namespace
} // namespace holdfast::interop
