// Everything of the Redis engine that reads what others wrote.

#include "backends/redis/errors.hpp"
#include "backends/redis/looking.hpp"
#include "backends/redis/names.hpp"
#include "backends/redis/protocol.hpp"
#include "backends/redis/url.hpp"
#include "mutate.hpp"

using namespace std::chrono_literals;

namespace holdfast::redis::fuzz {
namespace {

using holdfast::fuzz::for_many_seeds;
using holdfast::fuzz::mutator;

const std::string uuid = "3f0d5a6e-8b1c-4c51-9a55-0f2f6c1de001";

const std::vector<std::string> replies = {
    "*2\r\n:1\r\n$16\r\n1763000000000001\r\n",
    "*4\r\n:0\r\n:1500\r\n$3\r\nc:7\r\n:3\r\n",
    "*2\r\n:-1\r\n$16\r\n1763000000000001\r\n",
    ":1\r\n",
    "*3\r\n:1\r\n:0\r\n:1\r\n",
    "-WRONGTYPE Operation against a key\r\n",
    "-MOVED 3999 127.0.0.1:6381\r\n",
    "$-1\r\n",
    "+OK\r\n",
    "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\n0\r\n",
    "*8\r\n$4\r\nhash\r\n:30000\r\n*4\r\n$4\r\nmode\r\n$4\r\nread\r\n$38\r\n" + uuid +
        ":1\r\n$1\r\n1\r\n$8\r\n65000000\r\n*1\r\n$38\r\n" + uuid +
        ":2\r\n*2\r\n$1\r\nx\r\n$4\r\n1500\r\n$8\r\n70000000\r\n$2\r\nrw\r\n",
    "*8\r\n$6\r\nstring\r\n:-1\r\n*0\r\n$1\r\n0\r\n*0\r\n*0\r\n$3\r\n100\r\n$35\r\n" +
        std::string(32, 'a') + ".42\r\n",
};
const std::vector<std::string> reply_words = {"\r\n",
                                              "*",
                                              "$",
                                              ":",
                                              "-",
                                              "+",
                                              "0",
                                              "-1",
                                              "1",
                                              "9223372036854775807",
                                              "-9223372036854775808",
                                              "*0\r\n",
                                              "$-1\r\n",
                                              ":1\r\n",
                                              "*1048577\r\n",
                                              "*65\r\n",
                                              "$100000000\r\n",
                                              "mode",
                                              ":write",
                                              std::string(1, '\0'),
                                              "%1\r\n",
                                              "~1\r\n",
                                              ">2\r\n",
                                              ",1.5\r\n",
                                              "#t\r\n",
                                              "_\r\n",
                                              "(1\r\n"};

void look_at_all_of(const reply& r, int depth = 0) {
    (void)r.text();
    (void)r.number();
    for (std::size_t i = 0; i < r.size() && depth < 12; ++i)
        look_at_all_of(r[i], depth + 1);
    (void)r[r.size()].text();
}

[[nodiscard]] std::vector<claim> one_of_each() {
    claim plain;
    plain.name = "n";
    plain.ttl = 30s;
    auto fair = plain, reads = plain, writes = plain, permit = plain;
    fair.kind = kind::fair;
    writes.kind = reads.kind = kind::read_write;
    reads.mode = mode::shared;
    permit.mode = mode::permit;
    return {plain, fair, reads, writes, permit};
}

// What a verdict says is in bounds, whatever the server said.
void check(const protocol::verdict& v, const claim& what) {
    using verdict_kind = protocol::verdict::kind;
    if (v.is == verdict_kind::granted) {
        EXPECT_GE(v.fence.value(), what.mode == mode::exclusive ? 1 : 0);
        EXPECT_LE(v.fence.value(), INT64_MAX - static_cast<std::int64_t>(v.reserved));
    }
    if (v.is == verdict_kind::contended) {
        EXPECT_GE(v.no.retry_after, 0s);
        EXPECT_LE(v.no.place, 1'000'000U);
    }
    if (v.is == verdict_kind::failed) {
        EXPECT_TRUE(v.why.code);
        EXPECT_LE(v.why.detail.size(), 400U);
    }
}

TEST(fuzz_redis, whatever_a_server_answers_is_understood_or_refused) {
    const protocol java{layout::redisson, "", announcing::publish, 24h, uuid};
    const protocol plain{layout::plain, "", announcing::publish, 24h, uuid};
    const notes_by_client notes{{uuid, note{{"host", 1, "p"}, {{mode::exclusive, 5, "n"}}}}};
    const auto claims = one_of_each();
    for_many_seeds(20'000, [&](mutator& m) {
        const auto bytes = m.text(replies, reply_words);
        reply_reader reader;
        std::string_view rest = bytes;
        while (!rest.empty()) {
            const auto part = rest.substr(0, 1 + m.below(rest.size()));
            rest.remove_prefix(part.size());
            if (!reader.feed(part))
                return;
            reply r;
            auto found = reader.next(r);
            for (; found == reply_reader::found::reply; found = reader.next(r)) {
                look_at_all_of(r);
                for (const auto& what : claims) {
                    check(java.attempted(r, what), what);
                    check(plain.attempted(r, what), what);
                }
                EXPECT_GE(protocol::given_back(r), -1);
                for (const auto shape : {layout::redisson, layout::plain})
                    if (const auto lock = lock_from("n", r, notes, shape))
                        for (const auto& h : lock->holders) {
                            EXPECT_GE(h.fence.value(), 0);
                            EXPECT_GE(h.remaining.value_or(0s), 0s);
                        }
            }
            if (found == reply_reader::found::nonsense)
                return;
        }
    });
}

TEST(fuzz_redis, whatever_info_says_is_learned_or_passed_over) {
    const std::vector<std::string> seeds = {
        "# Server\r\nredis_version:7.0.15\r\nrun_id:abc\r\nuptime_in_seconds:12\r\n",
        "maxmemory:100\r\nmaxmemory_policy:allkeys-lru\r\naof_enabled:1\r\nconnected_slaves:2\r\n",
        "role:master\r\n"};
    for_many_seeds(20'000, [&](mutator& m) {
        server_facts facts;
        learn_from_info(facts,
                        m.text(seeds, {"\r", "\n", ":", "-1", "99999999999999999999", "\r\n"}));
        (void)facts.may_evict();
        server_state state{facts, "always", 1, {}};
        EXPECT_FALSE(findings_of("here", state, options{}).empty());
    });
}

TEST(fuzz_redis, whatever_a_note_says_is_somebody_or_nobody) {
    const std::vector<std::string> seeds = {
        "host\t42\treport\n0\t17\tn\n2\t18\ta b\n", "h\n", "\t\t\n"};
    for_many_seeds(20'000, [&](mutator& m) {
        const auto text = m.text(seeds, {"\t", "\n", "0", "3", "-1", "99999999999999999999"});
        if (const auto n = note_from(text)) {
            const auto again = note_from(text_of(*n));
            if (n->who.host.find_first_not_of("\r\t\n ") != std::string::npos) {
                ASSERT_TRUE(again);
                EXPECT_EQ(again->who.pid, n->who.pid);
                EXPECT_EQ(again->waits.size(), n->waits.size());
            }
        }
    });
}

TEST(fuzz_redis, whatever_an_error_says_has_a_meaning) {
    const std::vector<std::string> seeds = {
        "MOVED 3999 127.0.0.1:6381",
        "WRONGTYPE Operation",
        "ERR Error running script (call to f_1): @user_script:9: WRONGTYPE Operation",
        "ERR max number of clients reached",
        "NOAUTH"};
    for_many_seeds(20'000, [&](mutator& m) {
        const auto f = failure_of(m.text(seeds, {" ", ":", "-", "@user_script:", "ERR ", "\n"}));
        EXPECT_TRUE(f.code);
        EXPECT_LE(f.detail.size(), 400U);
    });
}

TEST(fuzz_redis, whatever_a_url_says_is_taken_or_refused_with_one_sentence) {
    const std::vector<std::string> schemes = {
        "redis", "rediss", "redis+unix", "redis+cluster", "redis+sentinel", "redis+replicas"};
    const std::vector<std::string> seeds = {
        "//user:Qq7Zz@host:6379/2?timeout=3s&prefix=a%20b",
        "//:Qq7Zz@h1,h2:7,[::1]:8/main?tls=yes&verify=no",
        "///run/redis.sock?db=1",
        "//:Qq7Zz@/run/redis.sock",
        "//"
        "h?layout=plain&announce=publish&connections=4&acknowledge=2&quarantine=0&eviction=allow"};
    for_many_seeds(20'000, [&](mutator& m) {
        const auto rest = m.text(seeds,
                                 {"@",
                                  ":",
                                  "/",
                                  "?",
                                  "&",
                                  "=",
                                  "%",
                                  "%zz",
                                  "%00",
                                  ",",
                                  "[",
                                  "]",
                                  "//",
                                  "99999999999999999999",
                                  "1000000000d",
                                  "password_file=/",
                                  "tls="});
        try {
            const auto o = options_of(m.one_of(schemes), rest);
            ASSERT_FALSE(o.servers.empty());
            for (const auto& one : o.servers) {
                EXPECT_FALSE(one.host.empty());
                EXPECT_GE(one.port, 0);
                EXPECT_LE(one.port, 65535);
            }
            EXPECT_GT(o.silence, 0s);
        } catch (const std::system_error& e) {
            const std::string said = e.what();
            // A file is named, whatever its name is.
            const auto file = rest.find("password_file=");
            if (file == rest.npos || rest.find("Qq7Zz", file) == rest.npos) {
                EXPECT_EQ(said.find("Qq7Zz"), std::string::npos) << rest << ": " << said;
            }
            EXPECT_EQ(said.find('\n'), std::string::npos) << rest;
        }
    });
}

TEST(fuzz_redis, whatever_a_name_is_its_keys_are_in_one_place_or_it_is_refused) {
    for_many_seeds(20'000, [&](mutator& m) {
        const auto name = m.text({"orders", "a{b}c", "{x}", "a}b{c"}, {"{", "}", "{}", "{{", "}}"});
        if (!keeps_to_one_slot(name))
            return;
        const std::string keys[] = {token_key(name),
                                    queue_key(name),
                                    patience_key(name),
                                    permits_key(name),
                                    reader_key(name, uuid + ":1"),
                                    writer_waits_key(name)};
        for (const auto& key : keys)
            EXPECT_EQ(slot_of(key), slot_of(name)) << name << " " << key;
    });
}

} // namespace
} // namespace holdfast::redis::fuzz
