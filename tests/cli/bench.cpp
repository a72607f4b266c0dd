// `holdfast bench`: it measures something, says so in two languages, and leaves nothing behind. How
// fast it was is nobody's business here.

#include "cli/bench/histogram.hpp"
#include "cli/text.hpp"
#include "parsed.hpp"
#include "workshop.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <limits>
#include <sstream>
#include <string>

namespace holdfast::cli_tests {
namespace {

using namespace std::chrono_literals;
using cli::benchmark::charset;
using cli::benchmark::histogram;
using testing::HasSubstr;
using testing::StartsWith;

class bench : public workshop {};

TEST_F(bench, measures_alone_among_threads_among_processes_and_among_readers) {
    const auto how = holdfast({"bench", "--seconds", "1", "--processes", "2", "--json"});
    EXPECT_EQ(how.code, 0) << how.err;
    EXPECT_EQ(how.err, "");
    const auto said = parsed(how.out);
    EXPECT_EQ(said.at("backend").as_string(), "sqlite");
    std::vector<std::string> names;
    for (const auto& one : said.at("measurements").as_array()) {
        names.emplace_back(one.at("name").as_string());
        EXPECT_GT(one.at("operations").as_int64(), 0);
        EXPECT_LE(one.at("p50_ns").as_int64(), one.at("p99_ns").as_int64());
        EXPECT_LE(one.at("p99_ns").as_int64(), one.at("max_ns").as_int64());
        std::int64_t sum = 0;
        for (const auto& row : one.at("histogram").as_array()) {
            sum += row.at("count").as_int64();
        }
        EXPECT_EQ(sum, one.at("operations").as_int64());
        EXPECT_EQ(one.at("owner_changes").is_null(), names.back() != "processes");
    }
    EXPECT_THAT(names, testing::ElementsAre("uncontended", "threads", "processes", "readers"));
    EXPECT_TRUE(parsed(holdfast({"ls", "--json"}).out).at("locks").as_array().empty());
}

TEST_F(bench, draws_in_ascii_where_nothing_else_can_be_shown) {
    const auto how = holdfast({"bench", "--seconds", "1", "memory:"},
                              {.environment = {"TERM=dumb", "LC_ALL=C.UTF-8"}, .input = {}});
    EXPECT_EQ(how.code, 0) << how.err;
    EXPECT_THAT(how.out, StartsWith("uncontended: "));
    EXPECT_THAT(how.out, HasSubstr("#"));
    EXPECT_THAT(how.out, HasSubstr("skipped: processes"));
    EXPECT_TRUE(std::all_of(how.out.begin(), how.out.end(), [](char c) {
        return static_cast<unsigned char>(c) < 128;
    })) << how.out;
}

TEST_F(bench, no_worker_outlives_it) {
    auto running = start({"bench", "--seconds", "1"});
    const auto worker = child_of(running.pid());
    running.signal(SIGKILL);
    EXPECT_EQ(running.end().code, 137);
    EXPECT_TRUE(is_gone_within(worker, 5s));
}

TEST_F(bench, a_worker_is_nothing_for_people) {
    EXPECT_EQ(holdfast({"bench-worker"}).code, 64);
    EXPECT_NE(holdfast({"bench-worker", "1"}).code, 0);
}

// -------------------------------------------------------------------------------- the histogram

histogram of(std::initializer_list<std::int64_t> times) {
    histogram all;
    for (const auto time : times) {
        all.add(time);
    }
    return all;
}

TEST(bench_histogram, percentiles_are_at_most_6_percent_too_large) {
    histogram all;
    for (std::int64_t i = 1; i <= 100'000; ++i) {
        all.add(i * 10);
    }
    for (const double percent : {1.0, 50.0, 90.0, 99.0, 99.9}) {
        const auto exact = percent * 10'000;
        EXPECT_GE(static_cast<double>(all.percentile(percent)), exact);
        EXPECT_LE(static_cast<double>(all.percentile(percent)), exact * 1.07);
    }
    EXPECT_EQ(all.percentile(100), 1'000'000);
    EXPECT_EQ(all.max(), 1'000'000);
}

TEST(bench_histogram, nothing_and_extremes_are_no_trouble) {
    EXPECT_EQ(histogram{}.percentile(50), 0);
    EXPECT_TRUE(histogram{}.doublings().empty());
    EXPECT_EQ(of({0}).percentile(50), 0);
    EXPECT_EQ(of({-5}).max(), 0);
    const auto longest = std::numeric_limits<std::int64_t>::max();
    EXPECT_EQ(of({longest}).count(), 1);
    EXPECT_EQ(of({longest}).max(), longest);
}

TEST(bench_histogram, each_doubling_has_its_count_also_the_empty_ones_in_between) {
    const auto rows = of({5, 100, 120, 1000}).doublings();
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        sum += rows[i].count;
        EXPECT_TRUE(i == 0 || rows[i].below == 2 * rows[i - 1].below);
    }
    EXPECT_EQ(sum, 4);
    EXPECT_EQ(rows.front().below, 8);
    EXPECT_EQ(rows.back().below, 1024);
}

TEST(bench_histogram, no_line_is_wider_than_the_terminal) {
    const auto all = of({5, 100, 120, 1000, 50'000, 2'000'000, 3'000'000'000});
    for (const auto how : {charset::ascii, charset::utf8}) {
        for (const std::size_t width : {40U, 80U, 200U}) {
            std::istringstream lines{drawn(all, width, how)};
            for (std::string line; std::getline(lines, line);) {
                EXPECT_LE(cli::columns_of(line), width) << line;
            }
        }
    }
}

TEST(bench_histogram, times_have_units) {
    using cli::benchmark::told_time;
    EXPECT_EQ(told_time(870, charset::utf8), "870 ns");
    EXPECT_EQ(told_time(12'400, charset::utf8), "12.4 µs");
    EXPECT_EQ(told_time(12'400, charset::ascii), "12.4 us");
    EXPECT_EQ(told_time(3'100'000, charset::utf8), "3.1 ms");
    EXPECT_EQ(told_time(0, charset::utf8), "0 ns");
}

} // namespace
} // namespace holdfast::cli_tests
