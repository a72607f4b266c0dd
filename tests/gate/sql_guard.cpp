// The guard: a transaction with it commits only what its holder was entitled to. A bank shows it:
// holders read two accounts, think, and write them, and some think for longer than they hold.
//
//   one      acquires ── reads ─────────────── (its lease is over) ────────────── writes: refused
//   another                        acquires ── reads ── writes ── commits

#include "gate/sql_at_fault.hpp"

#include <atomic>
#include <thread>

namespace holdfast::servers {
namespace {

enum class guarded { no, yes };

/// Four accounts, 400 in all.
class bank {
public:
    static constexpr std::int64_t all_money = 400;

    explicit bank(const sql_server& in) : in_{in} {
        in_.sql("CREATE TABLE account (id INT PRIMARY KEY, amount BIGINT NOT NULL)");
        in_.sql("INSERT INTO account VALUES (0, 100), (1, 100), (2, 100), (3, 100)");
    }
    [[nodiscard]] std::int64_t total() const {
        return in_.number("SELECT sum(amount) FROM account");
    }

private:
    const sql_server& in_;
};

/// What a program does that moves money: what it has read is what it will write.
class transfer {
public:
    transfer(session& at, int from, int to, std::int64_t amount)
        : at_{at}, from_{from}, to_{to}, left_{read(from) - amount}, right_{read(to) + amount} {}

    /// False: the server refused, and nothing happened.
    [[nodiscard]] bool commit(const sql_engine& engine, const std::string& guard) const {
        at_.ask("BEGIN");
        try {
            if (!guard.empty())
                at_.ask(guard);
            write(from_, left_);
            write(to_, right_);
            at_.ask("COMMIT");
            return true;
        } catch (const std::runtime_error& e) {
            EXPECT_NE(std::string{e.what()}.find(engine.stale), std::string::npos) << e.what();
            at_.ask("ROLLBACK");
            return false;
        }
    }

private:
    [[nodiscard]] static std::string which(int id) { return " WHERE id = " + std::to_string(id); }
    [[nodiscard]] std::int64_t read(int id) {
        return at_.number("SELECT amount FROM account" + which(id));
    }
    void write(int id, std::int64_t amount) const {
        at_.ask("UPDATE account SET amount = " + std::to_string(amount) + which(id));
    }

    session& at_;
    const int from_, to_;
    const std::int64_t left_, right_;
};

constexpr const char* door = "bank";

class sql_guard : public sql_at_fault {
protected:
    void set_up() override {
        start();
        money.emplace(*server);
    }

    /// One who thinks for too long, and another who is quicker, in turn; how many of the late ones
    /// could still commit.
    int late_commits(guarded how) {
        const std::vector<client> clients{open_ours(), open_ours(), open_ours()};
        const auto slow = server->connect(), quick = server->connect();
        int late = 0;
        for (int i = 0; i < 6; ++i) {
            mutex ours{clients.at(static_cast<std::size_t>(i % 3)), door};
            mutex theirs{clients.at(static_cast<std::size_t>((i + 1) % 3)), door};
            const auto over = get(ours, {.ttl = 300ms, .renew = false});
            const transfer thought{*slow, i % 4, (i + 1) % 4, 7};
            const auto held = get(theirs, {});
            EXPECT_FALSE(over.held()) << promise_broken;
            EXPECT_GT(held.fence(), over.fence()) << promise_broken;
            const transfer done{*quick, (i + 1) % 4, (i + 2) % 4, 5};
            EXPECT_TRUE(done.commit(GetParam(), how == guarded::yes ? guard_of(held) : ""));
            late += thought.commit(GetParam(), how == guarded::yes ? guard_of(over) : "");
        }
        return late;
    }

    [[nodiscard]] bool is_refused(const std::string& guard) const {
        try {
            const auto its = server->connect();
            its->ask("BEGIN");
            its->ask(guard);
            return false;
        } catch (const std::runtime_error& e) {
            EXPECT_NE(std::string{e.what()}.find(GetParam().stale), std::string::npos) << e.what();
            return true;
        }
    }

    /// By one more client.
    [[nodiscard]] bool can_be_had_within(duration wait) const {
        try {
            return mutex{open_ours(), door}.try_acquire_for(wait).has_value();
        } catch (const std::system_error& e) { // its last question had no time to wait for the row
            EXPECT_EQ(e.code(), condition::try_again) << e.what();
            return false;
        }
    }

    std::optional<bank> money;
};
HOLDFAST_ON_BOTH(sql_guard);

TEST_P(sql_guard, who_thinks_for_longer_than_he_holds_commits_nothing) {
    EXPECT_EQ(late_commits(guarded::yes), 0) << promise_broken;
    EXPECT_EQ(money->total(), bank::all_money) << promise_broken;
}

// The test above would notice.
TEST_P(sql_guard, without_it_money_is_made_or_lost) {
    EXPECT_EQ(late_commits(guarded::no), 6);
    EXPECT_NE(money->total(), bank::all_money);
}

// Guards and takeovers at the same moments. One at a time thinks until a later one has committed.
TEST_P(sql_guard, money_stays_the_same_whoever_is_late) {
    constexpr int enough = 60;
    std::atomic<int> commits = 0, late = 0, late_commits = 0;
    std::atomic<std::int64_t> last_committed = 0; // its fence
    std::mutex thinking;
    const auto hold = [&](mutex& to, session& at, int round) {
        const auto held = get(to, {.ttl = 150ms, .renew = false});
        const transfer thought{at, round % 4, (round + 1) % 4, round % 5};
        const auto is_late = [&] { return last_committed > held.fence().value(); };
        if (const std::unique_lock thinks{thinking, std::try_to_lock}; thinks && round % 3 == 0) {
            EXPECT_TRUE(eventually([&] { return is_late() || commits >= enough; }));
        }
        const bool was_late = is_late();
        const bool done = thought.commit(GetParam(), guard_of(held));
        late += was_late;
        late_commits += was_late && done;
        if (done && ++commits)
            last_committed = held.fence().value();
    };
    std::vector<std::thread> holders;
    for (int i = 0; i < 4; ++i)
        holders.emplace_back([&, i] {
            const auto ours = open_ours();
            const auto at = server->connect();
            mutex to{ours, door};
            for (int round = i; commits < enough; ++round)
                hold(to, *at, round);
        });
    for (auto& one : holders)
        one.join();
    EXPECT_GT(late, 0);
    EXPECT_EQ(late_commits, 0) << promise_broken;
    EXPECT_EQ(money->total(), bank::all_money) << promise_broken;
}

TEST_P(sql_guard, nobody_gets_the_lock_while_a_guarded_transaction_is_open) {
    const auto ours = open_ours(), others = open_ours();
    mutex to{ours, door}, again{others, door};
    const auto held = get(to, {.ttl = 500ms, .renew = false});
    std::future<lease> waiter;
    const auto at = server->connect();
    at->ask("BEGIN");
    at->ask(guard_of(held));
    at->ask("UPDATE account SET amount = 1 WHERE id = 0");
    std::atomic<bool> ends = false;
    waiter = in_a_thread([&] {
        auto next = get(again, {});
        EXPECT_TRUE(ends) << promise_broken << "two could commit at once";
        EXPECT_EQ(server->number("SELECT amount FROM account WHERE id = 0"), 1) << promise_broken;
        return next;
    });
    EXPECT_TRUE(eventually([&] { return !held.held(); }));
    EXPECT_FALSE(can_be_had_within(2s));
    ends = true;
    at->ask("COMMIT");
    EXPECT_GT(outcome(waiter).fence(), held.fence()) << promise_broken;
    EXPECT_TRUE(is_refused(guard_of(held))) << promise_broken;
}

TEST_P(sql_guard, an_open_one_is_in_the_way_of_no_renewal) {
    const auto ours = open_ours();
    mutex to{ours, door};
    const auto held = get(to, {.ttl = 2s});
    const auto at = server->connect();
    at->ask("BEGIN");
    at->ask(guard_of(held));
    const auto first = held.deadline();
    EXPECT_TRUE(eventually([&] { return held.lost() || held.deadline() > first + 2s; }));
    EXPECT_TRUE(held.held());
    at->ask("UPDATE account SET amount = 1 WHERE id = 0");
    at->ask("COMMIT");
}

TEST_P(sql_guard, a_release_that_comes_too_early_waits_for_the_transaction) {
    const auto ours = open_ours(), others = open_ours();
    mutex to{ours, door}, again{others, door};
    auto held = get(to, {});
    const auto guard = guard_of(held);
    const auto at = server->connect();
    at->ask("BEGIN");
    at->ask(guard);
    static_cast<void>(held.release()); // before the commit, which is wrong, and yet
    EXPECT_FALSE(can_be_had_within(2s)) << promise_broken << "two could commit at once";
    at->ask("COMMIT");
    EXPECT_TRUE(again.try_acquire_for(patience)) << "and not only when its ttl is over";
    EXPECT_TRUE(is_refused(guard)) << promise_broken;
}

TEST_P(sql_guard, who_does_not_hold_is_refused) {
    const auto ours = open_ours();
    EXPECT_EQ(ours.inspect("*").size(), 0U); // the tables are there
    EXPECT_TRUE(is_refused(sql::guard(GetParam().dialect, "nobody wanted it", fence{1})));
    mutex to{ours, door};
    auto held = get(to, {});
    const auto guard = guard_of(held);
    EXPECT_FALSE(is_refused(guard));
    EXPECT_TRUE(is_refused(sql::guard(GetParam().dialect, "bank ", held.fence())));
    EXPECT_TRUE(is_refused(sql::guard(GetParam().dialect, "BANK", held.fence())));
    EXPECT_TRUE(is_refused(sql::guard(GetParam().dialect, door, fence{held.fence().value() - 1})));
    EXPECT_EQ(held.release(), release_result::released);
    EXPECT_TRUE(is_refused(guard)) << promise_broken << "it was released";
    const auto next = get(to, {});
    EXPECT_TRUE(is_refused(guard)) << promise_broken << "somebody else holds it";
    EXPECT_FALSE(is_refused(guard_of(next)));
    EXPECT_EQ(ours.force_release(door), 1U);
    EXPECT_TRUE(is_refused(guard_of(next))) << promise_broken << "an operator took it";
}

// Those who get it from one of their own client have fences that the server was not told of.
TEST_P(sql_guard, it_knows_those_to_whom_it_was_passed_on) {
    const auto ours = open_ours();
    std::atomic<int> passed = 0;
    std::vector<std::thread> holders;
    for (int i = 0; i < 4; ++i)
        holders.emplace_back([&] {
            const auto at = server->connect();
            mutex to{ours, door};
            const auto give_up = boot_clock::now() + patience;
            while (passed < 20 && boot_clock::now() < give_up) {
                auto held = get(to, {});
                EXPECT_FALSE(is_refused(guard_of(held)));
                passed += held.fence().value() > at->number("SELECT fence FROM holdfast_lock");
            }
        });
    for (auto& one : holders)
        one.join();
    EXPECT_GE(passed, 20);
}

} // namespace
} // namespace holdfast::servers
