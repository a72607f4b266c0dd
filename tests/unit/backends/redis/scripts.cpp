// What the scripts do to the keys, on a real server: a pure test cannot know.

#include "backends/redis/scripts.hpp"
#include "backends/redis/errors.hpp"
#include "backends/redis/protocol.hpp"
#include "claims.hpp"
#include "parsed.hpp"
#include "servers/redis.hpp"

#include <gtest/gtest.h>

using namespace std::chrono_literals;

namespace holdfast::redis::test {
namespace {

using servers::reply;

class redis_scripts : public testing::Test {
protected:
    static void SetUpTestSuite() {
        if (!servers::redis_server::missing())
            server_ = std::make_unique<servers::redis_server>();
    }
    static void TearDownTestSuite() { server_.reset(); }
    void SetUp() override {
        HOLDFAST_NEEDS(servers::redis_server::missing());
        server_->ask({"FLUSHALL"});
    }

    [[nodiscard]] static reply say(const std::string& bytes) {
        return server_->ask(commands_in(bytes).at(0));
    }
    [[nodiscard]] reply
    attempt(const claim& c, joining join = joining::none, std::int64_t not_after = 0) const {
        std::string out;
        protocol_.attempt(out, c, join, not_after, calling::in_full);
        return say(out);
    }
    [[nodiscard]] reply give_back(const claim& c) const {
        std::string out;
        protocol_.give_back(out, c, calling::in_full);
        return say(out);
    }
    [[nodiscard]] reply prolong(const std::vector<const claim*>& all) const {
        std::string out;
        protocol_.prolong(out, all, calling::in_full);
        return say(out);
    }
    [[nodiscard]] reply force(const std::string& name) const {
        std::string out;
        protocol_.take_by_force(out, name, calling::in_full);
        return say(out);
    }
    [[nodiscard]] static std::int64_t fence_in(const reply& r) {
        return r.items.size() == 2 && r.items[0].number == 1 ? std::stoll(r.items[1].text) : -1;
    }
    [[nodiscard]] static bool yes(const reply& r) { return fence_in(r) >= 0; }
    [[nodiscard]] static bool exists(const std::string& key) {
        return server_->ask({"EXISTS", key}).number == 1;
    }

    static inline std::unique_ptr<servers::redis_server> server_;
    protocol protocol_{
        layout::redisson, "", announcing::publish, 24h, "3f0d5a6e-8b1c-4c51-9a55-0f2f6c1de001"};
};

TEST_F(redis_scripts, have_the_digests_that_the_server_computes) {
    for (const auto* one : scripts_to_load())
        EXPECT_EQ(server_->ask({"SCRIPT", "LOAD", one->text}).text, one->sha);
}

TEST_F(redis_scripts, the_same_nonce_gets_the_same_answer) {
    for (const auto& what : {claim_of("n"), fair_claim("f"), writing("w")}) {
        const auto first = fence_in(attempt(what));
        EXPECT_GT(first, 0);
        EXPECT_EQ(fence_in(attempt(what)), first);
        EXPECT_FALSE(yes(attempt([&] {
            auto other = what;
            other.nonce = nonce_of(2);
            return other;
        }())));
        EXPECT_GE(give_back(what).number, 1);
        EXPECT_EQ(give_back(what).number, 0) << "a release that is repeated";
        EXPECT_FALSE(exists(what.name));
    }
}

TEST_F(redis_scripts, fences_grow_by_more_than_a_grant_reserves) {
    auto last = std::int64_t{0};
    for (int i = 0; i < 200; ++i) {
        const auto what = claim_of("n", static_cast<unsigned char>(i));
        const auto now = fence_in(attempt(what));
        ASSERT_GE(now, last + fences_per_grant);
        last = now;
        ASSERT_GE(give_back(what).number, 1);
    }
}

TEST_F(redis_scripts, fences_go_on_where_java_left_off) {
    server_->ask({"SET", token_key("n"), "4000000000000000"});
    const auto what = claim_of("n");
    EXPECT_GT(fence_in(attempt(what)), 4000000000000000);
    EXPECT_EQ(server_->ask({"PTTL", token_key("n")}).number, -1) << "Java's counter never expires";
}

TEST_F(redis_scripts, a_plain_semaphore_is_the_number_that_is_free) {
    protocol_ = {layout::redisson, "", announcing::publish, 24h, "u", semaphores::plain};
    const auto first = permit("n", 2, 1), second = permit("n", 2, 2), third = permit("n", 2, 3);
    EXPECT_EQ(attempt(first, joining::none, 1).items.at(0).number, -1) << "too late";
    EXPECT_FALSE(exists("n"));
    EXPECT_TRUE(yes(attempt(first)));
    EXPECT_TRUE(yes(attempt(first))) << "the same nonce";
    EXPECT_EQ(server_->ask({"GET", "n"}).text, "1");
    server_->ask({"DECR", "n"}); // Java
    const auto no = attempt(second);
    EXPECT_EQ(no.items.at(0).number, 0);
    EXPECT_GT(no.items.at(1).number, 29'000) << "ours may come back by then";
    EXPECT_EQ(prolong({&first}).items.at(0).number, 1);
    EXPECT_EQ(prolong({&second}).items.at(0).number, 0);
    server_->ask({"INCR", "n"}); // Java
    EXPECT_TRUE(yes(attempt(second)));
    EXPECT_EQ(give_back(first).number, 1);
    EXPECT_EQ(give_back(first).number, 0) << "a release that is repeated";
    EXPECT_EQ(server_->ask({"GET", "n"}).text, "1");
    server_->ask({"ZADD", permits_key("n", semaphores::plain), "1", std::string(16, '\2')});
    EXPECT_TRUE(yes(attempt(third))) << "the second is dead, and its permit came back";
    EXPECT_EQ(server_->ask({"GET", "n"}).text, "1");
    EXPECT_EQ(give_back(second).number, 0);
    server_->ask({"SET", "text", "no number"});
    EXPECT_TRUE(attempt(permit("text", 1)).is_error());
    EXPECT_FALSE(exists(permits_key("text", semaphores::plain)));
}

TEST_F(redis_scripts, what_came_too_late_changes_nothing) {
    for (const auto& what :
         {claim_of("n"), fair_claim("f"), writing("w"), reading("r"), permit("p", 2)}) {
        const auto late = attempt(what, joining::queue, 1);
        ASSERT_EQ(late.items.size(), 2U);
        EXPECT_EQ(late.items[0].number, -1);
    }
    EXPECT_EQ(server_->ask({"DBSIZE"}).number, 0);
}

// The table of errors calls WRONGTYPE certain: nothing was done.
TEST_F(redis_scripts, a_failed_script_leaves_no_lock) {
    for (const char* const foreign : {"list", "text"}) {
        for (const auto& what : {claim_of("n"), fair_claim("n"), writing("n")}) {
            server_->ask({"FLUSHALL"});
            if (std::string{foreign} == "list")
                server_->ask({"RPUSH", token_key("n"), "x"});
            else
                server_->ask({"SET", token_key("n"), "abc"});
            const auto answer = attempt(what);
            ASSERT_TRUE(answer.is_error());
            EXPECT_EQ(failure_of(answer.text).applied, applied::no) << answer.text;
            EXPECT_FALSE(exists("n")) << foreign;
        }
    }
}

TEST_F(redis_scripts, a_name_that_holds_something_else_is_left_alone) {
    for (const auto& make : {servers::words{"SET", "n", "data"}, {"RPUSH", "n", "data"}}) {
        server_->ask({"FLUSHALL"});
        server_->ask(make);
        for (const auto& what : {claim_of("n"), fair_claim("n"), writing("n"), reading("n")}) {
            EXPECT_TRUE(attempt(what).is_error());
            (void)give_back(what);
        }
        (void)force("n");
        EXPECT_TRUE(exists("n"));
        EXPECT_EQ(server_->ask({"DBSIZE"}).number, 1);
    }
}

TEST_F(redis_scripts, one_foreign_key_costs_no_other_lock) {
    const auto a = claim_of("a"), b = claim_of("b"), c = claim_of("c");
    for (const auto* one : {&a, &b, &c})
        ASSERT_TRUE(yes(attempt(*one)));
    server_->ask({"SET", "b", "somebody's"});
    server_->ask({"PEXPIRE", "c", "1000"});
    const auto all = prolong({&a, &b, &c});
    ASSERT_EQ(all.items.size(), 3U) << all;
    EXPECT_EQ(all.items[0].number, 1);
    EXPECT_EQ(all.items[1].number, 0);
    EXPECT_EQ(all.items[2].number, 1);
    EXPECT_GT(server_->ask({"PTTL", "c"}).number, 20'000);
}

TEST_F(redis_scripts, force_takes_locks_and_no_data) {
    server_->ask({"HSET", "user:1", "name", "Ann"});
    EXPECT_TRUE(force("user:1").is_error());
    EXPECT_TRUE(exists("user:1"));
    ASSERT_TRUE(yes(attempt(claim_of("n"))));
    EXPECT_EQ(force("n").number, 1);
    EXPECT_EQ(force("n").number, 0);
    ASSERT_TRUE(yes(attempt(reading("r", 1))));
    ASSERT_TRUE(yes(attempt(reading("r", 2))));
    EXPECT_EQ(force("r").number, 2);
    ASSERT_TRUE(yes(attempt(writing("r", 3))));
    EXPECT_EQ(force("r").number, 1);
    server_->ask({"HSET", "java", "3f0d5a6e-8b1c-4c51-9a55-0f2f6c1de001:-57", "2"});
    EXPECT_EQ(force("java").number, 1);
    ASSERT_TRUE(yes(attempt(permit("p", 2, 1))));
    ASSERT_TRUE(yes(attempt(permit("p", 2, 2))));
    EXPECT_FALSE(yes(attempt(permit("p", 2, 3))));
    EXPECT_EQ(force("p").number, 2);
    EXPECT_TRUE(yes(attempt(permit("p", 2, 3))));
}

TEST_F(redis_scripts, nothing_is_prolonged_that_is_gone) {
    for (const auto& what : {claim_of("n"), writing("w"), reading("r"), permit("p", 2)}) {
        EXPECT_EQ(prolong({&what}).items.at(0).number, 0);
        EXPECT_EQ(server_->ask({"DBSIZE"}).number, 0);
    }
}

TEST_F(redis_scripts, who_waits_in_order_is_served_in_order) {
    const auto a = fair_claim("n", 1), b = fair_claim("n", 2), c = fair_claim("n", 3);
    ASSERT_TRUE(yes(attempt(a, joining::queue)));
    EXPECT_EQ(attempt(b, joining::queue).items.at(3).number, 1);
    EXPECT_EQ(attempt(c, joining::queue).items.at(3).number, 2);
    EXPECT_EQ(give_back(a).number, 1);
    EXPECT_FALSE(yes(attempt(c, joining::queue)));
    EXPECT_EQ(give_back(b).number, 0) << "it gave back a place, not a grant";
    EXPECT_TRUE(yes(attempt(c, joining::queue)));
    EXPECT_EQ(give_back(c).number, 1);
    EXPECT_EQ(server_->ask({"KEYS", "*"}).items.size(), 1U) << "only the fence is left";
}

TEST_F(redis_scripts, readers_share_and_writers_do_not) {
    ASSERT_TRUE(yes(attempt(reading("n", 1))));
    ASSERT_TRUE(yes(attempt(reading("n", 2))));
    EXPECT_FALSE(yes(attempt(writing("n", 3), joining::queue)));
    EXPECT_FALSE(yes(attempt(reading("n", 4)))) << "a writer waits";
    EXPECT_TRUE(yes(attempt(reading("n", 2)))) << "who reads already, reads";
    EXPECT_EQ(give_back(reading("n", 1)).number, 1);
    EXPECT_EQ(give_back(reading("n", 2)).number, 1);
    EXPECT_TRUE(yes(attempt(writing("n", 3))));
    EXPECT_FALSE(yes(attempt(claim_of("n", 5)))) << "nor a lock of one holder";
    EXPECT_EQ(give_back(writing("n", 3)).number, 1);
    ASSERT_TRUE(yes(attempt(claim_of("n", 5))));
    EXPECT_FALSE(yes(attempt(reading("n", 6)))) << "which Redisson would walk past";
}

} // namespace
} // namespace holdfast::redis::test
