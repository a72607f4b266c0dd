#include "backends/sqlite/protocol.hpp"
#include "world.hpp"

#include <sqlite3.h>

namespace holdfast::sqlite::test {
namespace {

constexpr nonce no_one{};
const nonce writer{{1, 2, 3}};

TEST(sqlite_protocol, every_statement_fits_the_schema) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(":memory:", &db), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(db, schema, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    for (std::size_t i = 0; i < query_count; ++i) {
        const auto text = text_of(static_cast<query>(i));
        sqlite3_stmt* statement = nullptr;
        EXPECT_EQ(
            sqlite3_prepare_v2(db, text.data(), static_cast<int>(text.size()), &statement, nullptr),
            SQLITE_OK)
            << text << ": " << sqlite3_errmsg(db);
        sqlite3_finalize(statement);
    }
    sqlite3_close(db);
}

TEST(sqlite_protocol, no_statement_of_the_hot_path_reads_a_whole_table) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(":memory:", &db), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(db, schema, nullptr, nullptr, nullptr), SQLITE_OK);
    for (const auto which : {query::fences,
                             query::fence_take,
                             query::glance,
                             query::holders_of,
                             query::holder_add,
                             query::holder_remove,
                             query::holder_bond,
                             query::has_waiters,
                             query::waiters_of,
                             query::waiters_from_the_end,
                             query::queue_size,
                             query::waiter_admitted,
                             query::waiter_after,
                             query::waiter_remove,
                             query::bond_find,
                             query::bond_prolong,
                             query::bond_remove,
                             query::process_find}) {
        const auto text = "EXPLAIN QUERY PLAN " + std::string{text_of(which)};
        sqlite3_stmt* statement = nullptr;
        ASSERT_EQ(sqlite3_prepare_v2(db, text.c_str(), -1, &statement, nullptr), SQLITE_OK);
        while (sqlite3_step(statement) == SQLITE_ROW) {
            const std::string step =
                reinterpret_cast<const char*>(sqlite3_column_text(statement, 3));
            EXPECT_FALSE(step.starts_with("SCAN") && step != "SCAN CONSTANT ROW")
                << text << ": " << step;
        }
        sqlite3_finalize(statement);
    }
    sqlite3_close(db);
}

TEST(sqlite_protocol, an_exclusive_holder_admits_nobody) {
    crowd all;
    EXPECT_TRUE(all.admits(mode::exclusive, 1));
    EXPECT_TRUE(all.admits(mode::shared, 1));
    EXPECT_TRUE(all.admits(mode::permit, 1));
    all.add(mode::exclusive, writer);
    EXPECT_FALSE(all.admits(mode::exclusive, 1));
    EXPECT_FALSE(all.admits(mode::shared, 1));
    EXPECT_FALSE(all.admits(mode::shared, 1, &no_one));
    EXPECT_FALSE(all.admits(mode::permit, 9));
    EXPECT_TRUE(all.admits(mode::shared, 1, &writer)) << "but its own reading";
    all.add(mode::shared, no_one);
    EXPECT_TRUE(all.admits(mode::shared, 1, &writer));
    EXPECT_FALSE(all.admits(mode::exclusive, 1, &writer));
}

TEST(sqlite_protocol, readers_admit_readers_and_permits_are_counted) {
    crowd readers;
    readers.add(mode::shared, no_one);
    EXPECT_TRUE(readers.admits(mode::shared, 1));
    EXPECT_FALSE(readers.admits(mode::exclusive, 1));
    EXPECT_FALSE(readers.admits(mode::permit, 5));
    crowd permits;
    permits.add(mode::permit, no_one);
    permits.add(mode::permit, writer);
    EXPECT_FALSE(permits.admits(mode::permit, 2));
    EXPECT_TRUE(permits.admits(mode::permit, 3));
    EXPECT_FALSE(permits.admits(mode::shared, 1));
    EXPECT_EQ(permits.size(), 2U);
}

TEST(sqlite_protocol, a_holder_is_over_when_its_time_and_its_delay_have_passed) {
    const instant start{1h};
    holder_row h;
    EXPECT_TRUE(is_over(h, liveness::alive, start)) << "no bond, no holder";
    h.kept_by = bond_row{.ttl = 10s, .lock_delay = 5s, .expires_at = start + 10s};
    EXPECT_FALSE(is_over(h, liveness::alive, start + 15s - 1ns));
    EXPECT_TRUE(is_over(h, liveness::alive, start + 15s));
    h.kept_by->children_keep_it = true;
    EXPECT_FALSE(is_over(h, liveness::alive, start + 1h));
    EXPECT_TRUE(is_over(h, liveness::unknown, start + 1h));
}

TEST(sqlite_protocol, what_the_core_may_believe_never_goes_beyond_what_the_file_says) {
    const bond_row bond{.ttl = 10s, .lock_delay = 5s, .expires_at = instant{1h}};
    const auto terms = terms_of(bond_id{7}, bond);
    EXPECT_EQ(terms.bond, bond_id{7});
    EXPECT_EQ(terms.anchor + terms.ttl, bond.expires_at);
    EXPECT_LE(terms.anchor + terms.ttl, free_at(bond));
}

TEST(sqlite_protocol, a_bond_is_due_after_a_third_of_its_life) {
    const bond_row bond{.ttl = 30s, .lock_delay = {}, .expires_at = instant{30s}};
    EXPECT_FALSE(is_due(bond, instant{9s}));
    EXPECT_TRUE(is_due(bond, instant{11s}));
}

TEST(sqlite_protocol, time_does_not_run_over_its_end) {
    EXPECT_EQ(after(instant{1s}, forever), never);
    EXPECT_EQ(after(never, 1s), never);
    EXPECT_EQ(after(instant{1s}, 1s), instant{2s});
}

TEST(sqlite_protocol, a_letter_about_a_bond_carries_its_number) {
    const bond_id large{0xfedcba9876543210};
    EXPECT_EQ(letter::about_bond(large).bond(), large);
}

} // namespace
} // namespace holdfast::sqlite::test
