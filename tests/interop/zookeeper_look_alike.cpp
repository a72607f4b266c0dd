// After the same steps in Java and in C++ ZooKeeper contains the same.
//
// Apart from what each node says of who made it, and from how many numbers were used before.

#include "interop/both_on_zookeeper.hpp"
#include "interop/look_alike.hpp"

namespace holdfast::interop {
namespace {

class zookeeper_look_alike : public with_both_on_zookeeper {
protected:
    void compare(const steps& all) {
        likeness{{[this] { return anonymous(*tree); }, [this] { tree->clear(); }}}.expect(
            *java, *ours, all);
    }
};

INSTANTIATE_TEST_SUITE_P(real,
                         zookeeper_look_alike,
                         ::testing::ValuesIn(curator_versions_to_test()),
                         version_as_name);

TEST_P(zookeeper_look_alike, mutex) {
    compare({"lock c1 h1 mutex /orders",
             "unlock c1 h1 mutex /orders",
             "lock c1 h1 mutex /orders",
             "trylock c2 h1 mutex /orders 0 -1",
             "trylock c2 h1 mutex /orders 100 -1",
             "(waits) lock c2 h1 mutex /orders",
             "unlock c1 h1 mutex /orders",
             "unlock c2 h1 mutex /orders"});
}

TEST_P(zookeeper_look_alike, queue) {
    compare({"lock c1 h1 fair /orders",
             "(waits) lock c2 h1 fair /orders",
             "(waits) lock c1 h2 fair /orders",
             "(waits) lock c2 h2 fair /orders",
             "unlock c1 h1 fair /orders",
             "unlock c2 h1 fair /orders",
             "unlock c1 h2 fair /orders",
             "unlock c2 h2 fair /orders"});
}

TEST_P(zookeeper_look_alike, parents) {
    compare({"lock c1 h1 mutex /shop/orders/42",
             "lock c1 h1 write /shop/bills/42",
             "unlock c1 h1 mutex /shop/orders/42",
             "unlock c1 h1 write /shop/bills/42"});
}

TEST_P(zookeeper_look_alike, reading_and_writing) {
    compare({"lock c1 h1 read /orders",
             "lock c2 h1 read /orders",
             "unlock c2 h1 read /orders",
             "(waits) lock c2 h1 write /orders",
             "trylock c2 h2 read /orders 0 -1",
             "unlock c1 h1 read /orders",
             "unlock c2 h1 write /orders",
             "lock c1 h1 write /bills",
             "(waits) lock c2 h1 write /bills",
             "unlock c1 h1 write /bills",
             "unlock c2 h1 write /bills"});
}

TEST_P(zookeeper_look_alike, mutex_that_is_a_semaphore) {
    compare({"lock s1 h1 semaphore_mutex /orders",
             "trylock s2 h1 semaphore_mutex /orders 100 -1",
             "(waits) lock s2 h1 semaphore_mutex /orders",
             "unlock s1 h1 semaphore_mutex /orders",
             "unlock s2 h1 semaphore_mutex /orders"});
}

TEST_P(zookeeper_look_alike, leases) {
    compare({"permit c1 h1 set /tickets 2",
             "permit c2 h1 set /tickets 2",
             "permit c2 h2 set /tickets 2",
             "permit c2 h1 acquire /tickets",
             "permit c1 h1 acquire /tickets",
             "permit c2 h2 tryacquire /tickets 100 -1",
             "(waits) permit c2 h2 acquire /tickets",
             "permit c1 h1 release /tickets PERMIT"});
}

TEST_P(zookeeper_look_alike, several_as_one) {
    compare({"lock c1 h1 multi /a,/b,/c",
             "trylock c2 h1 multi /b,/d 100 -1",
             "unlock c1 h1 multi /a,/b,/c"});
}

/// 5.4.0 puts the reader behind those who wait, and lets them in.
class zookeeper_since_curator_5_5 : public with_both_on_zookeeper {};

INSTANTIATE_TEST_SUITE_P(real,
                         zookeeper_since_curator_5_5,
                         ::testing::Values(newest_curator),
                         version_as_name);

TEST_P(zookeeper_since_curator_5_5, a_writer_who_becomes_a_reader_looks_alike) {
    const auto seen = [this](peer& by, const std::string& write, const std::string& read) {
        tree->clear();
        std::string all;
        for (const auto& step : {"lock c1 h1 " + write,
                                 "lock c1 h1 " + read,
                                 "unlock c1 h1 " + write,
                                 "unlock c1 h1 " + read}) {
            by.ask(step, "/orders");
            all += anonymous(*tree) + "\n";
        }
        return all;
    };
    EXPECT_EQ(seen(*java, "write", "read"), seen(*ours, "lockable_write", "lockable_read"));
}

class zookeeper_containers : public with_both_on_zookeeper {
    [[nodiscard]] servers::zookeeper_options options() const override {
        return {.properties = {"znode.container.checkIntervalMs=100"}};
    }
};

INSTANTIATE_TEST_SUITE_P(real,
                         zookeeper_containers,
                         ::testing::ValuesIn(curator_versions_to_test()),
                         version_as_name);

TEST_P(zookeeper_containers, are_what_parents_are_whoever_made_them) {
    for (auto* one : {&*java, &*ours}) {
        const std::vector<std::string> locks{"c1 h1 mutex /shop/orders/42",
                                             "c1 h1 read /shop/bills/42",
                                             "s1 h1 semaphore_mutex /users/42"};
        for (const auto& lock : locks)
            one->ask("lock", lock);
        for (const auto& lock : locks)
            one->ask("unlock", lock);
        EXPECT_TRUE(cli_tests::comes_true(std::chrono::seconds{30}, [&] {
            return tree->below("/").empty();
        })) << dump(*tree);
    }
}

TEST_P(zookeeper_containers, that_go_while_both_count_are_made_again) {
    std::vector<std::pair<peer*, peer::ticket>> all;
    for (auto* one : {&*java, &*ours})
        for (const std::string kind : {"mutex", "write"})
            all.emplace_back(one,
                             one->begin("guard c1",
                                        kind,
                                        kind,
                                        "/shop/deep/down/" + kind,
                                        counter(kind),
                                        takes_its_time() ? "2000" : "200"));
    for (const auto& [whose, ticket] : all)
        EXPECT_NO_THROW(whose->end(ticket, std::chrono::minutes{5}));
    for (const std::string kind : {"mutex", "write"})
        EXPECT_EQ(counted(kind), takes_its_time() ? 4000 : 400);
}

} // namespace
} // namespace holdfast::interop
