#include "gate/sql_counter.hpp"

#include <sstream>

namespace holdfast::servers {

bool count(session& at, const lease& held, const milestones& comes_to) {
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

sql_counter::sql_counter(const sql_server& at) : at_{at} {
    at.sql("CREATE TABLE counter (value BIGINT NOT NULL, fence BIGINT NOT NULL)");
    at.sql("CREATE TABLE counted (value BIGINT NOT NULL, fence BIGINT NOT NULL)");
    at.sql("INSERT INTO counter VALUES (0, 0)");
}

bool sql_counter::goes_on() const {
    const auto before = so_far();
    return eventually([&] { return so_far() >= before + 5; });
}

void sql_counter::count_once(mutex& door, session& at, duration ttl) {
    const auto held = get(door, {.ttl = ttl});
    saw_.testify(held, 20);
    if (!count(at, held)) {
        EXPECT_FALSE(held.held()) << promise_broken;
    }
}

void sql_counter::expect_that_each_counted_once() const {
    std::istringstream rows{at_.sql("SELECT value, fence FROM counted ORDER BY value")};
    std::int64_t last = 0, last_fence = 0, value = 0, fence = 0;
    for (char bar = 0; rows >> value >> bar >> fence; ++last) {
        ASSERT_EQ(value, last + 1) << promise_broken;
        ASSERT_GT(fence, last_fence) << promise_broken;
        last_fence = fence;
    }
    EXPECT_EQ(so_far(), last) << promise_broken;
    const auto all = saw_.judge();
    EXPECT_GE(all.holds, static_cast<std::size_t>(last));
    EXPECT_EQ(all.overlaps, 0U) << promise_broken;
    EXPECT_EQ(all.regressions, 0U) << promise_broken;
}

crowd::crowd(const std::string& url, sql_counter& counter, duration ttl) {
    for (int i = 0; i < 3; ++i)
        threads_.emplace_back([&, url, ttl] {
            const auto ours = open(url);
            mutex door{ours, "counter"};
            std::unique_ptr<session> own;
            while (!over_)
                try {
                    if (!own)
                        own = counter.server().connect();
                    counter.count_once(door, *own, ttl);
                } catch (const std::runtime_error&) { // the server is away
                    own.reset();
                }
        });
}

void crowd::end() {
    over_ = true;
    for (auto& one : threads_)
        if (one.joinable())
            one.join();
}

} // namespace holdfast::servers
