#include "backends/redis/protocol.hpp"
#include "claims.hpp"
#include "parsed.hpp"

#include <gtest/gtest.h>

using namespace std::chrono_literals;

namespace holdfast::redis::test {
namespace {

constexpr const char* uuid = "3f0d5a6e-8b1c-4c51-9a55-0f2f6c1de001";

[[nodiscard]] protocol java() { return {layout::redisson, "app:", announcing::publish, 24h, uuid}; }
[[nodiscard]] protocol plain() { return {layout::plain, "", announcing::publish, 24h, uuid}; }

using words = std::vector<std::string>;

[[nodiscard]] words attempt_of(const protocol& p, const claim& c, joining join = joining::queue) {
    std::string out;
    p.attempt(out, c, join, 77, calling::by_digest);
    return commands_in(out).at(0);
}
[[nodiscard]] words give_back_of(const protocol& p, const claim& c) {
    std::string out;
    p.give_back(out, c, calling::by_digest);
    return commands_in(out).at(0);
}

TEST(redis_protocol, knows_which_structure_a_claim_is_about) {
    EXPECT_EQ(java().of(claim_of("n")), structure::holder);
    EXPECT_EQ(java().of(fair_claim("n")), structure::fair);
    EXPECT_EQ(java().of(writing("n")), structure::writer);
    EXPECT_EQ(java().of(reading("n")), structure::reader);
    EXPECT_EQ(java().of(permit("n", 3)), structure::permit);
    EXPECT_EQ(plain().of(claim_of("n")), structure::string);
}

TEST(redis_protocol, asks_for_a_lock_with_one_script) {
    auto what = claim_of("n");
    what.lock_delay = 5s;
    const auto p = java();
    EXPECT_EQ(attempt_of(p, what),
              (words{"EVALSHA",
                     all_scripts().take.sha,
                     "2",
                     "app:n",
                     "redisson_lock_token:{app:n}",
                     std::string{p.holders().of(what.nonce)},
                     "35000",
                     "77",
                     "86400000"}));
    std::string out;
    p.attempt(out, what, joining::none, 0, calling::in_full);
    EXPECT_EQ(commands_in(out).at(0).at(0), "EVAL");
    EXPECT_EQ(commands_in(out).at(0).at(1), all_scripts().take.text);
}

// Every command says how many keys there are, and all of them are in the slot of the name.
TEST(redis_protocol, keys_of_one_command_share_a_slot) {
    const auto p = java();
    for (const char* const name : {"n", "a/b", "x{tag}y"})
        for (const auto& what :
             {claim_of(name), fair_claim(name), writing(name), reading(name), permit(name, 2)}) {
            std::vector<words> all{attempt_of(p, what), give_back_of(p, what)};
            std::string out;
            const claim* one = &what;
            p.prolong(out, {&one, 1}, calling::by_digest);
            p.take_by_force(out, name, calling::by_digest);
            p.look(out, name, calling::by_digest);
            for (auto& c : commands_in(out))
                all.push_back(std::move(c));
            for (const auto& c : all) {
                const auto keys = std::stoul(c.at(2));
                ASSERT_LE(3 + keys, c.size());
                for (std::size_t i = 0; i < keys; ++i)
                    EXPECT_EQ(slot_of(c[3 + i]), slot_of(p.key(name))) << c[3 + i];
            }
        }
}

TEST(redis_protocol, prolongs_many_with_one_script) {
    const auto a = claim_of("a", 1), b = claim_of("b", 2);
    const claim* both[] = {&a, &b};
    std::string out;
    java().prolong(out, both, calling::by_digest);
    EXPECT_EQ(commands_in(out).at(0),
              (words{"EVALSHA",
                     all_scripts().prolong.sha,
                     "2",
                     "app:a",
                     "app:b",
                     "30000",
                     std::string{java().holders().of(a.nonce)},
                     std::string{java().holders().of(b.nonce)}}));
}

TEST(redis_protocol, listens_where_java_announces) {
    const auto p = java();
    EXPECT_EQ(p.channel(claim_of("n")), "redisson_lock__channel:{app:n}");
    EXPECT_EQ(p.channel(fair_claim("n")),
              "redisson_lock__channel:{app:n}:" + std::string{p.holders().of(nonce_of(1))});
    EXPECT_EQ(p.channel(reading("n")), "redisson_rwlock:{app:n}");
    EXPECT_EQ(p.channel(permit("n", 1)), "redisson_sc:{app:n}");
    EXPECT_EQ(plain().channel(claim_of("n")), "holdfast_channel:{n}");
}

TEST(redis_protocol, rounds_times_up_to_milliseconds) {
    EXPECT_EQ(milliseconds_of(1ns), 1);
    EXPECT_EQ(milliseconds_of(1ms), 1);
    EXPECT_EQ(milliseconds_of(1ms + 1ns), 2);
    EXPECT_EQ(milliseconds_of(0s), 0);
}

TEST(redis_protocol, of_a_plain_semaphore_writes_down_what_is_ours) {
    const protocol p{layout::redisson, "", announcing::both, 24h, uuid, semaphores::plain};
    const auto what = permit("n", 3);
    std::string out;
    p.attempt(out, what, joining::none, 0, calling::by_digest);
    p.give_back(out, what, calling::by_digest);
    const auto said = commands_in(out);
    EXPECT_EQ(said.at(0).at(1), all_scripts().take_plain_permit.sha);
    EXPECT_EQ(said.at(0).at(3), "n");
    EXPECT_EQ(said.at(0).at(4), "{n}:holdfast_permits");
    EXPECT_EQ(said.at(0).back(), "both");
    EXPECT_EQ(said.at(1).at(1), all_scripts().give_back_permit.sha);
    EXPECT_EQ(said.at(1).at(4), "{n}:holdfast_permits");
    EXPECT_EQ(p.channel(what), "redisson_sc:{n}");
}

TEST(redis_protocol, looks_whether_it_is_still_ours_without_a_script) {
    const auto looks = [](const protocol& p, const claim& what) {
        std::string out;
        p.look_for(out, what);
        return commands_in(out).at(0);
    };
    const auto p = java();
    const std::string mine{std::string_view{p.holders().of(nonce_of(1))}};
    EXPECT_EQ(looks(p, claim_of("n")), (words{"HEXISTS", "app:n", mine}));
    EXPECT_EQ(looks(p, reading("n")), (words{"HEXISTS", "app:n", mine}));
    EXPECT_EQ(looks(p, writing("n")), (words{"HEXISTS", "app:n", mine + ":write"}));
    EXPECT_EQ(looks(p, permit("n", 1)).front(), "ZSCORE");
    EXPECT_EQ(looks(plain(), claim_of("n")), (words{"GETRANGE", "n", "0", "32"}));

    const auto still = [](const protocol& of, const claim& what, const std::string& bytes) {
        const parsed r{bytes};
        return of.still_ours(*r, what);
    };
    EXPECT_EQ(still(p, claim_of("n"), ":1\r\n"), true);
    EXPECT_EQ(still(p, claim_of("n"), ":0\r\n"), false);
    EXPECT_EQ(still(p, claim_of("n"), "-WRONGTYPE it is a list\r\n"), false);
    EXPECT_EQ(still(p, claim_of("n"), "-LOADING\r\n"), std::nullopt);
    EXPECT_EQ(still(p, claim_of("n"), "*0\r\n"), std::nullopt);
    EXPECT_EQ(still(p, permit("n", 1), "$1\r\n5\r\n"), true);
    EXPECT_EQ(still(p, permit("n", 1), "$-1\r\n"), false);
    std::string taken;
    plain().attempt(taken, claim_of("n"), joining::none, 0, calling::by_digest);
    const auto ours = commands_in(taken).at(0).at(4) + "."; // as it begins
    EXPECT_EQ(still(plain(), claim_of("n"), "$33\r\n" + ours + "\r\n"), true);
    EXPECT_EQ(still(plain(), claim_of("n"), "$0\r\n\r\n"), false);
}

// ------------------------------------------------------------------------------------- answers

using kind_of = protocol::verdict::kind;

[[nodiscard]] protocol::verdict
verdict_of(const std::string& bytes, const claim& what, const protocol& p = java()) {
    const parsed r{bytes};
    return p.attempted(*r, what);
}

TEST(redis_protocol, a_grant_has_a_fence_and_more_in_reserve) {
    const auto yes = verdict_of("*2\r\n:1\r\n$16\r\n1763000000000001\r\n", claim_of("n"));
    ASSERT_EQ(yes.is, kind_of::granted);
    EXPECT_EQ(yes.fence, fence{1763000000000001});
    EXPECT_EQ(yes.reserved, 64U);
    const auto in_plain = verdict_of("*2\r\n:1\r\n$2\r\n42\r\n", claim_of("n"), plain());
    EXPECT_EQ(in_plain.fence, fence{42});
    EXPECT_EQ(in_plain.reserved, 0U);
    const auto permitted = verdict_of("*2\r\n:1\r\n$1\r\n0\r\n", permit("n", 2));
    EXPECT_EQ(permitted.is, kind_of::granted);
    EXPECT_EQ(permitted.fence, fence{});
    EXPECT_EQ(verdict_of("*2\r\n:1\r\n$1\r\n0\r\n", reading("n")).is, kind_of::granted)
        << "nobody has written yet";
}

TEST(redis_protocol, a_refusal_says_who_and_how_long) {
    const auto no = verdict_of("*4\r\n:0\r\n:1500\r\n$3\r\nc:7\r\n:3\r\n", fair_claim("n"));
    ASSERT_EQ(no.is, kind_of::contended);
    EXPECT_EQ(no.no.retry_after, 1500ms);
    ASSERT_TRUE(no.no.holder);
    EXPECT_EQ(no.no.holder->purpose, "c:7");
    EXPECT_EQ(no.no.place, 3U);
    EXPECT_EQ(verdict_of("*2\r\n:0\r\n:-1\r\n", claim_of("n")).no.retry_after, forever);
}

TEST(redis_protocol, what_came_too_late_tells_the_time) {
    const auto late = verdict_of("*2\r\n:-1\r\n$3\r\n123\r\n", claim_of("n"));
    EXPECT_EQ(late.is, kind_of::too_late);
    EXPECT_EQ(late.server_us, 123);
}

TEST(redis_protocol, a_grant_that_makes_no_sense_is_not_believed) {
    for (const char* const hostile : {"*2\r\n:1\r\n:0\r\n",
                                      "*2\r\n:1\r\n:-5\r\n",
                                      "*2\r\n:1\r\n$1\r\nx\r\n",
                                      "*2\r\n:1\r\n:9223372036854775807\r\n",
                                      "*2\r\n:1\r\n:9223372036854775743\r\n",
                                      "*2\r\n:1\r\n$19\r\n9223372036854775808\r\n",
                                      "*2\r\n:1\r\n$-1\r\n",
                                      "*2\r\n:2\r\n:5\r\n",
                                      "*2\r\n:-2\r\n:5\r\n",
                                      "*1\r\n:1\r\n",
                                      "*0\r\n",
                                      ":1\r\n",
                                      "+OK\r\n",
                                      "$-1\r\n",
                                      "*2\r\n*1\r\n:1\r\n:5\r\n"}) {
        const auto v = verdict_of(hostile, claim_of("n"));
        EXPECT_EQ(v.is, kind_of::failed) << hostile;
        EXPECT_EQ(v.why.applied, applied::maybe) << hostile;
    }
}

TEST(redis_protocol, no_number_in_a_refusal_is_too_large) {
    const auto no = verdict_of(
        "*4\r\n:0\r\n:9223372036854775807\r\n$-1\r\n:9223372036854775807\r\n", claim_of("n"));
    EXPECT_EQ(no.is, kind_of::contended);
    EXPECT_LE(no.no.retry_after, 24h);
    EXPECT_LE(no.no.place, 1'000'000U);
    const auto long_name =
        verdict_of("*3\r\n:0\r\n:1\r\n$1000\r\n" + std::string(1000, 'x') + "\r\n", claim_of("n"));
    EXPECT_LE(long_name.no.holder->purpose.size(), 256U);
}

TEST(redis_protocol, what_was_given_back_is_a_number_or_unknown) {
    EXPECT_EQ(protocol::given_back(*parsed{":0\r\n"}), 0);
    EXPECT_EQ(protocol::given_back(*parsed{":3\r\n"}), 3);
    for (const char* const odd : {":-7\r\n", "$1\r\n1\r\n", "-ERR\r\n", "$-1\r\n", "*1\r\n:1\r\n"})
        EXPECT_EQ(protocol::given_back(*parsed{odd}), -1) << odd;
}

} // namespace
} // namespace holdfast::redis::test
