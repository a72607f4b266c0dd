#include "backends/redis/looking.hpp"
#include "parsed.hpp"

#include <gtest/gtest.h>

#include <algorithm>

using namespace std::chrono_literals;

namespace holdfast::redis::test {
namespace {

const std::string uuid = "3f0d5a6e-8b1c-4c51-9a55-0f2f6c1de001";

[[nodiscard]] std::string bulk(const std::string& text) {
    return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}
[[nodiscard]] std::string list(const std::vector<std::string>& texts) {
    std::string made = "*" + std::to_string(texts.size()) + "\r\n";
    for (const auto& one : texts)
        made += bulk(one);
    return made;
}

struct look_answer {
    std::string type = "hash";
    std::int64_t ttl = 30'000;
    std::vector<std::string> fields{};
    std::string token = "0";
    std::vector<std::string> queue{}, permits{};
    std::string now_us = "1000000000", value{};

    [[nodiscard]] std::string bytes() const {
        return "*8\r\n" + bulk(type) + ":" + std::to_string(ttl) + "\r\n" + list(fields) +
               bulk(token) + list(queue) + list(permits) + bulk(now_us) + bulk(value);
    }
};

[[nodiscard]] std::optional<lock_info>
seen(const look_answer& a, const notes_by_client& notes = {}, layout shape = layout::redisson) {
    const parsed r{a.bytes()};
    return lock_from("n", *r, notes, shape);
}

TEST(redis_looking, tells_holders_from_other_peoples_data) {
    EXPECT_TRUE(looks_like_a_holder(uuid + ":57"));
    EXPECT_TRUE(looks_like_a_holder(uuid + ":-57"));
    EXPECT_TRUE(looks_like_a_holder(uuid + ":57:write"));
    for (const auto& other : {std::string{"name"},
                              std::string{},
                              uuid,
                              uuid + ":",
                              uuid + ":-",
                              uuid + ":x",
                              uuid + ":5:read",
                              std::string(36, 'z') + ":5",
                              std::string{":write"}})
        EXPECT_FALSE(looks_like_a_holder(other)) << other;
    EXPECT_FALSE(seen({.fields = {"name", "Ann"}}));
    EXPECT_FALSE(seen({.type = "none", .ttl = -2}));
    EXPECT_FALSE(seen({.type = "string", .value = "17"}));
    EXPECT_FALSE(seen({.type = "list"}));
}

TEST(redis_looking, shows_one_of_ours_with_fence_and_age) {
    const notes_by_client notes{{uuid, note{{"host", 42, "report"}, {}}}};
    const auto lock =
        seen({.fields = {uuid + ":1", "1"}, .token = "65000000", .now_us = "70000000"}, notes);
    ASSERT_TRUE(lock);
    ASSERT_EQ(lock->holders.size(), 1U);
    const auto& h = lock->holders[0];
    EXPECT_EQ(h.who.host, "host");
    EXPECT_EQ(h.who.pid, 42);
    EXPECT_EQ(h.fence, fence{64999936});
    EXPECT_EQ(h.held_for, 5000064us);
    EXPECT_EQ(h.remaining, 30s);
}

TEST(redis_looking, shows_java_by_its_name) {
    const auto lock = seen({.ttl = -1, .fields = {uuid + ":57", "2"}, .token = "66"});
    ASSERT_TRUE(lock);
    EXPECT_EQ(lock->holders.at(0).who.purpose, uuid + ":57");
    EXPECT_EQ(lock->holders.at(0).fence, fence{});
    EXPECT_EQ(lock->holders.at(0).remaining, std::nullopt);
}

TEST(redis_looking, tells_readers_from_writers) {
    const auto lock = seen(
        {.fields = {"mode", "write", uuid + ":1:write", "1", uuid + ":2", "1"}, .value = "rw"});
    ASSERT_TRUE(lock);
    ASSERT_EQ(lock->holders.size(), 2U);
    EXPECT_EQ(lock->holders[0].mode, mode::exclusive);
    EXPECT_EQ(lock->holders[1].mode, mode::shared);
}

TEST(redis_looking, shows_permits_and_the_plain_layout) {
    const auto permits = seen({.type = "string",
                               .permits = {"0123456789abcdef", "1500", "x", "junk"},
                               .now_us = "1000000",
                               .value = "3"});
    ASSERT_TRUE(permits);
    ASSERT_EQ(permits->holders.size(), 2U);
    EXPECT_EQ(permits->holders[0].remaining, 500ms);
    EXPECT_EQ(permits->holders[1].remaining, 0ms);
    EXPECT_FALSE(seen({.type = "none", .permits = {"0123456789abcdef", "1500"}}))
        << "they are those of {n}";
    const auto plain =
        seen({.type = "string", .now_us = "1000", .value = std::string(32, 'a') + ".400"},
             {},
             layout::plain);
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->holders.at(0).fence, fence{400});
    EXPECT_EQ(plain->holders.at(0).held_for, 600us);
    EXPECT_EQ(
        seen({.type = "string", .value = "random"}, {}, layout::plain)->holders.at(0).who.purpose,
        "random");
}

TEST(redis_looking, puts_waiters_in_the_order_of_the_queue) {
    const std::string other = "4f0d5a6e-8b1c-4c51-9a55-0f2f6c1de001";
    const notes_by_client notes{
        {uuid, note{{"a", 1, ""}, {{mode::exclusive, 10, "n"}, {mode::exclusive, 5, "other"}}}},
        {other, note{{"b", 2, ""}, {{mode::shared, 3, "n"}}}}};
    const auto lock =
        seen({.type = "none", .queue = {uuid + ":9", "java:1"}, .now_us = "100"}, notes);
    ASSERT_TRUE(lock);
    ASSERT_EQ(lock->waiters.size(), 3U);
    EXPECT_EQ(lock->waiters[0].who.host, "a");
    EXPECT_EQ(lock->waiters[0].waited_for, 90us);
    EXPECT_EQ(lock->waiters[1].who.purpose, "java:1");
    EXPECT_EQ(lock->waiters[2].who.host, "b");
}

// A fence is positive; whatever stands there instead is none.
TEST(redis_looking, believes_no_numbers_that_cannot_be) {
    const notes_by_client notes{{uuid, note{{"host", 42, "report"}, {}}}};
    for (const char* const token :
         {"0", "-65", "x", "", "1", "9223372036854775807", "-9223372036854775808"})
        EXPECT_TRUE(seen({.fields = {uuid + ":1", "1"}, .token = token, .now_us = "-5"}, notes))
            << token;
    for (const char* const tail : {".", ".-5", ".x", ".99999999999999999999", ".0"})
        EXPECT_TRUE(seen({.type = "string", .now_us = "x", .value = std::string(32, 'a') + tail},
                         {},
                         layout::plain))
            << tail;
    EXPECT_TRUE(seen({.type = "string",
                      .permits = {"id", "-9223372036854775808", "id", "9223372036854775807", "odd"},
                      .now_us = "9223372036854775807"}));
    for (const char* const odd :
         {"*0\r\n", ":1\r\n", "$-1\r\n", "-ERR\r\n", "*1\r\n$4\r\nhash\r\n"}) {
        const parsed r{odd};
        EXPECT_FALSE(lock_from("n", *r, {}, layout::redisson)) << odd;
    }
}

// ------------------------------------------------------------------------------------- findings

[[nodiscard]] server_facts sound() {
    server_facts f;
    f.known = true;
    f.version = "7.0.15";
    f.run_id = "x";
    f.eviction = "noeviction";
    f.append_only = true;
    return f;
}

[[nodiscard]] finding::grade worst(const server_state& s, const options& o = {}) {
    const auto all = findings_of("here", s, o);
    EXPECT_TRUE(std::is_sorted(
        all.begin(), all.end(), [](const auto& a, const auto& b) { return a.how > b.how; }));
    return all.empty() ? finding::grade::good : all.front().how;
}

TEST(redis_findings, grade_what_a_server_is_like) {
    using grade = finding::grade;
    server_state s{sound(), "always", -1, {}};
    EXPECT_EQ(worst(s), grade::notice);
    s.facts.append_only = false;
    EXPECT_EQ(worst(s), grade::warning);
    options careless;
    careless.quarantine = {};
    EXPECT_EQ(worst(s, careless), grade::danger);
    s = {sound(), "always", -1, {}};
    s.facts.eviction = "allkeys-lru";
    EXPECT_EQ(worst(s), grade::notice) << "it has no limit yet";
    s.facts.memory_limit = 1;
    EXPECT_EQ(worst(s), grade::danger);
    options allowed;
    allowed.allow_eviction = true;
    EXPECT_EQ(worst(s, allowed), grade::warning);
    s = {sound(), "always", -1, {}};
    s.facts.replicas = 2;
    EXPECT_EQ(worst(s), grade::warning);
    options careful;
    careful.acknowledge = 2;
    EXPECT_EQ(worst(s, careful), grade::notice);
    careful.acknowledge = 3;
    EXPECT_EQ(worst(s, careful), grade::danger) << "nobody can acknowledge it";
    s = {sound(), "always", -1, {}};
    options lossy;
    lossy.semaphores = semaphores::plain;
    EXPECT_EQ(worst(s, lossy), grade::warning) << "permits of the dead are lost";
    s.facts = {};
    EXPECT_EQ(worst(s), grade::warning) << "INFO is not allowed";
}

TEST(redis_findings, tell_a_replica_from_what_is_none) {
    using grade = finding::grade;
    auto primary = sound();
    primary.replication_id = "history";
    auto its = sound();
    EXPECT_EQ(finding_of_replica("there", {}, primary).how, grade::warning);
    learn_from_info(its,
                    "role:slave\r\nmaster_host:h\r\nmaster_port:7\r\nmaster_link_status:up\r\n"
                    "master_replid:history\r\nrun_id:y\r\n");
    EXPECT_EQ(its.follows, "h:7");
    EXPECT_EQ(finding_of_replica("there", its, primary).how, grade::good);
    its.is_linked = false;
    EXPECT_EQ(finding_of_replica("there", its, primary).how, grade::warning);
    its.replication_id = "another";
    EXPECT_EQ(finding_of_replica("there", its, primary).how, grade::danger);
    its.role = "master";
    EXPECT_EQ(finding_of_replica("there", its, primary).how, grade::danger);
}

TEST(redis_findings, learn_from_whatever_info_says) {
    server_facts f;
    learn_from_info(
        f,
        "# "
        "Server\r\nredis_version:7.0.15\r\nrun_id:abc\r\nuptime_in_seconds:12\r\nmaxmemory:100\r\n"
        "maxmemory_policy:allkeys-lru\r\naof_enabled:1\r\nconnected_slaves:2\r\nrole:master");
    EXPECT_TRUE(f.known);
    EXPECT_EQ(f.version, "7.0.15");
    EXPECT_EQ(f.run_id, "abc");
    EXPECT_EQ(f.uptime_s, 12);
    EXPECT_TRUE(f.may_evict());
    EXPECT_TRUE(f.append_only);
    EXPECT_EQ(f.replicas, 2);
    EXPECT_EQ(f.role, "master");
    for (const char* const odd :
         {"", ":", "\n\n", "\r", "uptime_in_seconds:x", "maxmemory:-1", "run_id"}) {
        server_facts g;
        learn_from_info(g, odd);
        EXPECT_FALSE(g.known) << odd;
    }
}

} // namespace
} // namespace holdfast::redis::test
