// What the real Redisson writes into Redis and publishes, step by step: the layout that we share.

#include "interop/redisson.hpp"

namespace holdfast::interop {
namespace {

using namespace std::chrono_literals;

class redisson_layout : public with_redisson {};

INSTANTIATE_TEST_SUITE_P(real,
                         redisson_layout,
                         ::testing::ValuesIn(redisson_versions_to_test()),
                         version_as_name);

/// What follows the text; empty if it is not there.
std::string after(const std::string& text, const std::string& line) {
    const auto at = line.find(text);
    return at == std::string::npos ? "" : line.substr(at + text.size());
}

bool is_random_id(const std::string& text) {
    return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

TEST_P(redisson_layout, of_a_plain_lock) {
    java->ask("lock c1 h1 plain orders");
    expect("orders hash <=30s\n  c1:h1 = 1\n");
    java->ask("lock c1 h1 plain orders 10000"); // the lease replaces, it does not add
    expect("orders hash <=10s\n  c1:h1 = 2\n");
    EXPECT_EQ(java->ask("trylock c2 h1 plain orders 0 10000"), "no");
    expect_silence();

    java->ask("unlock c1 h1 plain orders");
    expect("orders hash <=10s\n  c1:h1 = 1\n"); // the lease last used by this object
    expect_silence();
    java->ask("unlock c1 h1 plain orders");
    expect("");
    expect_news("redisson_lock__channel:{orders} 0");
    EXPECT_THROW(java->ask("unlock c1 h1 plain orders"), std::runtime_error);
    expect_silence();
}

TEST_P(redisson_layout, of_a_forced_release) {
    java->ask("lock c1 h1 plain orders");
    EXPECT_EQ(java->ask("force c2 h1 plain orders"), "true");
    expect("");
    expect_news("redisson_lock__channel:{orders} 0");
    EXPECT_EQ(java->ask("force c2 h1 plain orders"), "false");
    expect_silence();
}

TEST_P(redisson_layout, of_names_with_braces) {
    java->ask("lock c1 h1 plain a{b}c");
    expect("a{b}c hash <=30s\n  c1:h1 = 1\n");
    java->ask("unlock c1 h1 plain a{b}c");
    expect_news("redisson_lock__channel:a{b}c 0");
}

TEST_P(redisson_layout, of_an_unlock_latch) {
    java->ask("lock c1 h1 plain orders");
    monitor all{*server};
    java->ask("unlock c1 h1 plain orders");
    expect("");
    std::string how;
    std::string id;
    for (const auto& command : all.so_far()) {
        const auto latch = after("\"redisson_unlock_latch:{orders}:", command);
        if (latch.empty())
            continue;
        if (command.find("\"EVAL") != std::string::npos)
            how = command.find("\"EVALSHA\"") != std::string::npos ? "EVALSHA" : "EVAL";
        if (command.find("\"DEL\"") != std::string::npos)
            id = latch.substr(0, latch.find('"'));
    }
    EXPECT_TRUE(is_random_id(id)) << id;
    EXPECT_EQ(how, is_newest() ? "EVALSHA" : "EVAL");
}

TEST_P(redisson_layout, of_a_fair_lock) {
    java->ask("lock c1 h1 fair orders");
    expect("orders hash <=30s\n  c1:h1 = 1\n");
    const auto second = java->begin("lock c2 h1 fair orders");
    const std::string with_one_waiter = "orders hash <=30s\n"
                                        "  c1:h1 = 1\n"
                                        "redisson_lock_queue:{orders} list\n"
                                        "  c2:h1\n"
                                        "redisson_lock_timeout:{orders} zset\n"
                                        "  c2:h1 @ <=330s\n";
    expect(with_one_waiter);
    const auto third = java->begin("lock c2 h2 fair orders");
    const std::string with_two_waiters = "orders hash <=30s\n"
                                         "  c1:h1 = 1\n"
                                         "redisson_lock_queue:{orders} list\n"
                                         "  c2:h1\n"
                                         "  c2:h2\n"
                                         "redisson_lock_timeout:{orders} zset\n"
                                         "  c2:h1 @ <=330s\n"
                                         "  c2:h2 @ <=630s\n";
    expect(with_two_waiters);
    EXPECT_EQ(java->ask("trylock c1 h2 fair orders 100 10000"), "no"); // gives its place back
    expect(with_two_waiters);
    expect_silence();

    java->ask("unlock c1 h1 fair orders");
    expect_news("redisson_lock__channel:{orders}:c2:h1 0");
    java->end(second);
    expect("orders hash <=30s\n"
           "  c2:h1 = 1\n"
           "redisson_lock_queue:{orders} list\n"
           "  c2:h2\n"
           "redisson_lock_timeout:{orders} zset\n"
           "  c2:h2 @ <=330s\n");
    java->ask("unlock c2 h1 fair orders");
    expect_news("redisson_lock__channel:{orders}:c2:h2 0");
    java->end(third);
    expect("orders hash <=30s\n  c2:h2 = 1\n");
    java->ask("unlock c2 h2 fair orders");
    expect("");
    expect_silence(); // nobody is next
}

TEST_P(redisson_layout, of_readers) {
    java->ask("lock c1 h1 read orders");
    java->ask("lock c2 h1 read orders 20000");
    java->ask("lock c2 h1 read orders 20000");
    expect("orders hash <=30s\n"
           "  c1:h1 = 1\n"
           "  c2:h1 = 2\n"
           "  mode = read\n"
           "{orders}:c1:h1:rwlock_timeout:1 string <=30s\n"
           "  1\n"
           "{orders}:c2:h1:rwlock_timeout:1 string <=20s\n"
           "  1\n"
           "{orders}:c2:h1:rwlock_timeout:2 string <=20s\n"
           "  1\n");
    EXPECT_EQ(java->ask("trylock c1 h2 write orders 0 10000"), "no");

    java->ask("unlock c1 h1 read orders"); // the ttl is now that of those who are left
    expect("orders hash <=20s\n"
           "  c2:h1 = 2\n"
           "  mode = read\n"
           "{orders}:c2:h1:rwlock_timeout:1 string <=20s\n"
           "  1\n"
           "{orders}:c2:h1:rwlock_timeout:2 string <=20s\n"
           "  1\n");
    java->ask("unlock c2 h1 read orders");
    expect_silence();
    java->ask("unlock c2 h1 read orders");
    expect("");
    expect_news("redisson_rwlock:{orders} 0");
}

TEST_P(redisson_layout, of_a_writer) {
    java->ask("lock c1 h1 write orders");
    expect("orders hash <=30s\n  c1:h1:write = 1\n  mode = write\n");
    java->ask("lock c1 h1 write orders"); // here the lease adds
    expect("orders hash <=60s\n  c1:h1:write = 2\n  mode = write\n");
    EXPECT_EQ(java->ask("trylock c2 h1 read orders 0 10000"), "no");
    java->ask("unlock c1 h1 write orders");
    expect("orders hash <=30s\n  c1:h1:write = 1\n  mode = write\n");
    expect_silence();
    java->ask("unlock c1 h1 write orders");
    expect("");
    expect_news("redisson_rwlock:{orders} 1");
}

TEST_P(redisson_layout, of_a_writer_who_becomes_a_reader) {
    java->ask("lock c1 h1 write orders");
    java->ask("lock c1 h1 read orders");
    const std::string reading = "{orders}:c1:h1:rwlock_timeout:1 string <=30s\n  1\n";
    expect("orders hash <=30s\n  c1:h1 = 1\n  c1:h1:write = 1\n  mode = write\n" + reading);
    java->ask("unlock c1 h1 write orders");
    expect("orders hash <=30s\n  c1:h1 = 1\n  mode = read\n" + reading);
    expect_silence(); // readers who wait are not told
    java->ask("unlock c1 h1 read orders");
    expect("");
    expect_news("redisson_rwlock:{orders} 0");
}

TEST_P(redisson_layout, of_a_spin_lock) {
    java->ask("lock c1 h1 spin orders");
    expect("orders hash <=30s\n  c1:h1 = 1\n");
    java->ask("unlock c1 h1 spin orders");
    expect("");
    expect_silence();
}

TEST_P(redisson_layout, of_a_fenced_lock) {
    EXPECT_EQ(java->ask("lock c1 h1 fenced orders"), "1");
    expect("orders hash <=30s\n  c1:h1 = 1\nredisson_lock_token:{orders} string\n  1\n");
    EXPECT_EQ(java->ask("trylock c1 h1 fenced orders 100 20000"),
              "yes 2"); // reentry counts too
    EXPECT_EQ(java->ask("trylock c2 h1 fenced orders 0 20000"), "no");
    expect("orders hash <=20s\n  c1:h1 = 2\nredisson_lock_token:{orders} string\n  2\n");
    java->ask("unlock c1 h1 fenced orders");
    java->ask("unlock c1 h1 fenced orders");
    expect("redisson_lock_token:{orders} string\n  2\n");
    expect_news("redisson_lock__channel:{orders} 0");

    // Ours may be any number: Java goes on from it, and a plain lock does not raise it.
    server->ask({"SET", "redisson_lock_token:{orders}", "1700000000000000"});
    EXPECT_EQ(java->ask("trylock c2 h1 fenced orders 0 20000"), "yes 1700000000000001");
    java->ask("unlock c2 h1 fenced orders");
    java->ask("lock c2 h1 plain orders");
    expect("orders hash <=30s\n"
           "  c2:h1 = 1\n"
           "redisson_lock_token:{orders} string\n"
           "  1700000000000001\n");
}

TEST_P(redisson_layout, of_a_semaphore) {
    EXPECT_EQ(java->ask("semaphore c1 h1 set tickets 3"), "true");
    expect_news("redisson_sc:{tickets} 3");
    java->ask("semaphore c1 h1 acquire tickets 2");
    expect("tickets string\n  1\n");
    EXPECT_EQ(java->ask("semaphore c2 h1 tryacquire tickets 2 0"), "false");
    java->ask("semaphore c1 h1 release tickets 2");
    expect("tickets string\n  3\n");
    expect_news("redisson_sc:{tickets} 3"); // how many there are, not how many came back
}

TEST_P(redisson_layout, of_permits) {
    EXPECT_EQ(java->ask("permit c1 h1 set tickets 2"), "true");
    expect_news("redisson_sc:{tickets} 2");
    const auto leased = java->ask("permit c1 h1 acquire tickets 20000");
    const auto kept = java->ask("permit c1 h1 acquire tickets");
    EXPECT_TRUE(is_random_id(leased)) << leased;
    called.insert(called.begin(), {{leased, "leased"}, {kept, "kept"}});
    expect("tickets string\n"
           "  0\n"
           "{tickets}:timeout zset\n"
           "  0xleased @ <=20s\n"
           "  0xkept @ 922337203685477\n");
    EXPECT_EQ(java->ask("permit c2 h1 tryacquire tickets 50 1000"), "null");
    expect_silence();
    EXPECT_EQ(java->ask("permit c2 h1 release tickets " + kept), "true");
    expect("tickets string\n"
           "  1\n"
           "{tickets}:timeout zset\n"
           "  0xleased @ <=20s\n");
    expect_news("redisson_sc:{tickets} 1");
    EXPECT_EQ(java->ask("permit c2 h1 release tickets " + kept), "false");
    expect_silence();
}

TEST_P(redisson_layout, of_several_locks_at_once) {
    java->ask("lock c1 h1 multi orders,bills");
    expect("bills hash <=30s\n  c1:h1 = 1\norders hash <=30s\n  c1:h1 = 1\n");
    java->ask("unlock c1 h1 multi orders,bills");
    expect("");
    java->ask("lock c1 h1 redlock c1/orders,c2/bills");
    const auto own = called; // the hand is c1's thread, but the member's client is c2
    const auto thread = called[0].first.substr(called[0].first.find(':'));
    called.emplace_back(java->ask("id c2") + thread, "c2:of h1");
    expect("bills hash <=30s\n  c2:of h1 = 1\norders hash <=30s\n  c1:h1 = 1\n");
    java->ask("unlock c1 h1 redlock c1/orders,c2/bills");
    expect("");
}

TEST_P(redisson_layout, lets_both_in_when_a_plain_and_a_write_lock_share_a_name) {
    java->ask("lock c1 h1 plain orders");
    EXPECT_EQ(java->ask("trylock c2 h1 write orders 0 10000"), "yes");
    expect("orders hash <=10s\n  c1:h1 = 1\n  c2:h1:write = 1\n  mode = write\n");
}

} // namespace
} // namespace holdfast::interop
