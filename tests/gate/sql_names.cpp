// A database that knows nothing of us yet, and names as people think of them.

#include "gate/sql_at_fault.hpp"

#include <thread>

namespace holdfast::servers {
namespace {

class sql_first_use : public sql_at_fault {};
HOLDFAST_ON_BOTH(sql_first_use);

// Whoever comes first makes the tables. Nobody finds them half made.
TEST_P(sql_first_use, many_may_come_at_the_same_moment) {
    start();
    for (int i = 0; i < 8; ++i) {
        const auto table = "table=t" + std::to_string(i);
        std::vector<std::thread> all;
        for (int k = 0; k < 6; ++k)
            all.emplace_back([&] {
                const auto ours = open_ours(table);
                EXPECT_NO_THROW((void)(mutex{ours, "orders"}.acquire().release()));
            });
        for (auto& one : all)
            one.join();
    }
}

} // namespace
} // namespace holdfast::servers
