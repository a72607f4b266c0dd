// A count that is exact, whatever happens: holders are killed, connections are ended by an
// administrator, the server dies, rows are locked by others.

#include "conformance/child.hpp"
#include "gate/sql_counter.hpp"

#include <csignal>
#include <unistd.h>

namespace holdfast::servers {
namespace {

using conformance::add_worker;
using conformance::child;
using conformance::tell_parent;
using conformance::witness;

/// Where a holder may be when it is killed.
const std::vector<std::string> points{"acquired", "read", "written", "committed"};

class sql_counting : public sql_at_fault {
protected:
    void set_up() override {
        start();
        counter.emplace(*server);
    }

    std::optional<sql_counter> counter;
};
HOLDFAST_ON_BOTH(sql_counting);

/// engine, URL, way in, witness, and where to stop for good; nowhere: counts until it is killed.
int count_and_stop(const std::vector<std::string>& arguments) {
    const auto& stops_at = arguments.at(4);
    const auto ours = open(arguments.at(1));
    const auto at = sql_engine_called(arguments.at(0)).connect(arguments.at(2));
    witness saw{arguments.at(3)};
    mutex door{ours, "counter"};
    for (;;) {
        const auto held = get(door, {.ttl = 1s});
        saw.testify(held, 20);
        count(*at, held, [&](const std::string& point) {
            if (point != stops_at)
                return;
            tell_parent("there");
            ::pause();
        });
    }
}
[[maybe_unused]] const bool is_added = add_worker("count_and_stop", count_and_stop);

TEST_P(sql_counting, is_exact_although_holders_are_killed) {
    const auto worker = [&](const std::string& stops_at) {
        return child{
            "count_and_stop",
            {GetParam().name, server->url(), server->way_in(), counter->witness_file(), stops_at}};
    };
    auto one = worker("nowhere"), other = worker("nowhere");
    for (const auto& point : points) {
        auto victim = worker(point);
        ASSERT_EQ(victim.hear(), "there") << point;
        victim.kill();
        EXPECT_TRUE(counter->goes_on()) << "after one was killed who had just " << point;
    }
    for (auto* steady : {&one, &other}) {
        steady->kill();
        EXPECT_EQ(steady->wait(), -SIGKILL) << "it ended by itself";
    }
    counter->expect_that_each_counted_once();
    EXPECT_GE(counter->holds(), 20U);
}

TEST_P(sql_counting, is_exact_although_an_administrator_ends_connections) {
    crowd all{server->url(), *counter, 10s};
    for (int i = 0; i < 30; ++i) {
        EXPECT_TRUE(counter->goes_on());
        server->cut_all_users();
    }
    EXPECT_TRUE(counter->goes_on());
    all.end();
    counter->expect_that_each_counted_once();
}

TEST_P(sql_counting, is_exact_although_the_server_dies) {
    crowd all{server->url(), *counter, 10s};
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(counter->goes_on());
        server->process().restart();
    }
    EXPECT_TRUE(counter->goes_on());
    all.end();
    counter->expect_that_each_counted_once();
}

TEST_P(sql_counting, is_exact_although_others_lock_its_rows) {
    crowd all{server->url(), *counter, 3s};
    const auto other = server->connect();
    for (const std::string table : {"lock", "line", "bond"})
        for (int i = 0; i < 3; ++i) {
            EXPECT_TRUE(counter->goes_on());
            other->ask("BEGIN");
            other->ask("SELECT * FROM holdfast_" + table + " FOR UPDATE");
            EXPECT_TRUE(eventually([&] { return server->somebody_waits_for_a_row(); })) << table;
            other->ask("COMMIT");
        }
    EXPECT_TRUE(counter->goes_on());
    all.end();
    counter->expect_that_each_counted_once();
}

} // namespace
} // namespace holdfast::servers
