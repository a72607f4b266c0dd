// A primary, a replica that confirms what it does, and clients that know both. The primary dies and
// the replica is promoted.
//
//   clients ── primary ══▶ replica        counter: on a third server, to which nothing happens
//      └╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌┘

#include "gate/sql_counter.hpp"

namespace holdfast::servers {
namespace {

using conformance::code;
using conformance::error_of;

constexpr const char* is_no_primary =
    "this server is a replica, or does not write for another reason";

class sql_promotion : public sql_at_fault {
protected:
    void set_up() override {
        start({.has_replicas = true});
        replica = GetParam().start({.replica_of = server.get()});
    }

    [[nodiscard]] std::string both() const {
        return server->url_by(server->process().address() + ',' + replica->process().address());
    }
    void lose_primary() const {
        server->process().kill();
        replica->promote();
    }

    std::unique_ptr<sql_server> replica;
};
HOLDFAST_ON_BOTH(sql_promotion);

TEST_P(sql_promotion, a_count_is_exact_although_the_primary_dies) {
    const auto steady = GetParam().start({});
    sql_counter counter{*steady};
    crowd all{both(), counter, 30s};
    EXPECT_TRUE(counter.goes_on());
    lose_primary();
    EXPECT_TRUE(counter.goes_on());
    EXPECT_TRUE(counter.goes_on());
    all.end();
    counter.expect_that_each_counted_once();
}

TEST_P(sql_promotion, who_holds_holds_on) {
    const auto ours = open(both()), others = open(both());
    mutex door{ours, "orders"}, again{others, "orders"};
    auto held = get(door, {.ttl = 30s});
    auto waiter = in_a_thread([&] { return get(again, {.wait = patience}); });
    EXPECT_TRUE(
        eventually([&] { return server->number("SELECT count(*) FROM holdfast_line") == 1; }));
    lose_primary();
    const auto newcomer = open(both());
    EXPECT_FALSE((mutex{newcomer, "orders"}.try_acquire_for(conformance::a_while)))
        << promise_broken;
    EXPECT_TRUE(held.held());
    const auto fence = held.fence();
    const auto guard = guard_of(held);
    EXPECT_EQ(replica->sql(guard), "1");
    EXPECT_EQ(held.release(), release_result::released);
    const auto next = outcome(waiter);
    EXPECT_GT(next.fence(), fence) << promise_broken;
    EXPECT_THROW(replica->sql(guard), std::runtime_error) << promise_broken;
}

TEST_P(sql_promotion, a_replica_that_is_none_yet_is_refused) {
    {
        const auto ours = open(server->url());
        (void)get(*std::make_unique<mutex>(ours, "orders"), {}); // there are tables on both
    }
    const auto astray = open(replica->url());
    mutex door{astray, "orders"};
    try {
        (void)door.try_acquire();
        ADD_FAILURE() << "a replica has granted a lock";
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), code(errc::backend_unavailable));
        EXPECT_NE(std::string{e.what()}.find(is_no_primary), std::string::npos) << e.what();
        EXPECT_NE(std::string{e.what()}.find(replica->process().address()), std::string::npos)
            << e.what();
        EXPECT_EQ(std::string{e.what()}.find('\n'), std::string::npos) << e.what();
    }
    // The primary is found, in whatever order they are named.
    const auto found =
        open(server->url_by(replica->process().address() + ',' + server->process().address()));
    EXPECT_TRUE((mutex{found, "orders"}.try_acquire_for(patience)));
    // And the same client goes on when it is one.
    lose_primary();
    EXPECT_TRUE(door.try_acquire_for(patience));
}

TEST_P(sql_promotion, what_the_replica_has_not_confirmed_is_not_granted) {
    const auto ours = open(both()), others = open(both());
    mutex door{ours, "orders"}, again{others, "orders"};
    const auto fence = get(door, {.ttl = 30s}).fence();
    replica->process().pause();
    auto asked = in_a_thread(
        [&] { return error_of([&] { (void)door.try_acquire_for(500ms, {.ttl = 10min}); }); });
    EXPECT_EQ(outcome(asked), code(errc::outcome_unknown));
    replica->process().resume();
    const auto next = again.try_acquire_for(patience);
    ASSERT_TRUE(next) << "what was not confirmed is not taken back";
    EXPECT_GT(next->fence(), fence) << promise_broken;
}

} // namespace
} // namespace holdfast::servers
