// A count that is exact, whatever happens: holders are killed, connections are ended by an
// administrator, the server dies, rows are locked by others.
//
//   counter (value, fence)    one row; each holder says that it is there, reads, and writes one
//   more counted (value, fence)    a row for each of them: what was lost or done twice is seen here

#include "conformance/child.hpp"
#include "conformance/witness.hpp"
#include "gate/sql_at_fault.hpp"
#include "servers/folder.hpp"

#include <atomic>
#include <csignal>
#include <functional>
#include <sstream>
#include <thread>
#include <unistd.h>

namespace holdfast::servers {
namespace {

using conformance::add_worker;
using conformance::child;
using conformance::tell_parent;
using conformance::witness;

/// Where a holder may be when it is killed.
const std::vector<std::string> points{"acquired", "read", "written", "committed"};

/// False: somebody newer was there, and nothing was counted.
bool count(
    session& at,
    const lease& held,
    const std::function<void(const std::string& point)>& comes_to = [](const auto&) {}) {
    const auto by = sql::fenced(held.fence());
    comes_to("acquired");
    at.ask("UPDATE counter SET " + by.sets + " WHERE " + by.demands); // before it reads
    const auto next = std::to_string(at.number("SELECT value FROM counter") + 1);
    const auto fence = std::to_string(held.fence().value());
    comes_to("read");
    at.ask("BEGIN");
    at.ask("UPDATE counter SET value = " + next + ", " + by.sets + " WHERE " + by.demands);
    at.ask("INSERT INTO counted SELECT value, fence FROM counter WHERE fence = " + fence);
    const bool done = at.number("SELECT count(*) FROM counted WHERE fence = " + fence) == 1;
    comes_to("written");
    at.ask("COMMIT");
    comes_to("committed");
    return done;
}

/// Counts again and again. Whoever is refused has lost its lease before.
void count_for(const client& ours, session& at, witness& saw, duration ttl) {
    mutex door{ours, "counter"};
    const auto held = get(door, {.ttl = ttl});
    saw.testify(held, 20);
    if (!count(at, held)) {
        EXPECT_FALSE(held.held()) << promise_broken;
    }
}

/// Several clients, a thread each: what is passed on inside a client is another matter.
class crowd {
public:
    crowd(const sql_server& at, witness& saw, duration ttl) {
        for (int i = 0; i < 3; ++i)
            threads_.emplace_back([&, ttl] {
                const auto ours = open(at.url());
                std::unique_ptr<session> own;
                while (!over_)
                    try {
                        if (!own)
                            own = at.connect();
                        count_for(ours, *own, saw, ttl);
                    } catch (const std::runtime_error&) { // the server is away
                        own.reset();
                    }
            });
    }
    ~crowd() { end(); }
    void end() {
        over_ = true;
        for (auto& one : threads_)
            if (one.joinable())
                one.join();
    }

private:
    std::atomic<bool> over_ = false;
    std::vector<std::thread> threads_;
};

class sql_counting : public sql_at_fault {
protected:
    void SetUp() override {
        sql_at_fault::SetUp();
        if (IsSkipped() || HasFatalFailure())
            return;
        start();
        server->sql("CREATE TABLE counter (value BIGINT NOT NULL, fence BIGINT NOT NULL)");
        server->sql("CREATE TABLE counted (value BIGINT NOT NULL, fence BIGINT NOT NULL)");
        server->sql("INSERT INTO counter VALUES (0, 0)");
    }

    [[nodiscard]] std::int64_t so_far() const {
        return server->number("SELECT value FROM counter");
    }
    [[nodiscard]] bool goes_on() const {
        const auto before = so_far();
        return eventually([&] { return so_far() >= before + 5; });
    }

    void expect_that_each_counted_once() const {
        std::istringstream rows{server->sql("SELECT value, fence FROM counted ORDER BY value")};
        std::int64_t last = 0, last_fence = 0, value = 0, fence = 0;
        for (char bar = 0; rows >> value >> bar >> fence; ++last) {
            ASSERT_EQ(value, last + 1) << promise_broken;
            ASSERT_GT(fence, last_fence) << promise_broken;
            last_fence = fence;
        }
        EXPECT_EQ(so_far(), last) << promise_broken;
        const auto all = saw.judge();
        EXPECT_GE(all.holds, static_cast<std::size_t>(last));
        EXPECT_EQ(all.overlaps, 0U) << promise_broken;
        EXPECT_EQ(all.regressions, 0U) << promise_broken;
    }

    folder room;
    witness saw{room / "witness"};
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
            {GetParam().name, server->url(), server->way_in(), room / "witness", stops_at}};
    };
    auto one = worker("nowhere"), other = worker("nowhere");
    for (const auto& point : points) {
        auto victim = worker(point);
        ASSERT_EQ(victim.hear(), "there") << point;
        victim.kill();
        EXPECT_TRUE(goes_on()) << "after one was killed who had just " << point;
    }
    for (auto* steady : {&one, &other}) {
        steady->kill();
        EXPECT_EQ(steady->wait(), -SIGKILL) << "it ended by itself";
    }
    expect_that_each_counted_once();
    EXPECT_GE(saw.judge().holds, 20U);
}

TEST_P(sql_counting, is_exact_although_an_administrator_ends_connections) {
    crowd all{*server, saw, 10s};
    for (int i = 0; i < 30; ++i) {
        EXPECT_TRUE(goes_on());
        server->cut_all_users();
    }
    EXPECT_TRUE(goes_on());
    all.end();
    expect_that_each_counted_once();
}

TEST_P(sql_counting, is_exact_although_the_server_dies) {
    crowd all{*server, saw, 10s};
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(goes_on());
        server->process().restart();
    }
    EXPECT_TRUE(goes_on());
    all.end();
    expect_that_each_counted_once();
}

TEST_P(sql_counting, is_exact_although_others_lock_its_rows) {
    crowd all{*server, saw, 3s};
    const auto other = server->connect();
    for (const std::string table : {"lock", "line", "bond"})
        for (int i = 0; i < 3; ++i) {
            EXPECT_TRUE(goes_on());
            other->ask("BEGIN");
            other->ask("SELECT * FROM holdfast_" + table + " FOR UPDATE");
            EXPECT_TRUE(eventually([&] { return server->somebody_waits_for_a_row(); })) << table;
            other->ask("COMMIT");
        }
    EXPECT_TRUE(goes_on());
    all.end();
    expect_that_each_counted_once();
}

} // namespace
} // namespace holdfast::servers
