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

TEST_P(zookeeper_look_alike, writer_who_becomes_a_reader) {
    if (GetParam() != newest_curator)
        GTEST_SKIP() << "5.4.0 puts the reader behind those who wait, and lets them in";
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

} // namespace
} // namespace holdfast::interop
