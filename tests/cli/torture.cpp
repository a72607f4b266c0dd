// `holdfast torture`: a sound engine passes, a broken one is found out, and nothing is left behind.

#include "cli/process_tree.hpp"
#include "parsed.hpp"
#include "promise.hpp"
#include "workshop.hpp"

#include <gmock/gmock.h>

#include <csignal>
#include <ostream>
#include <string>

namespace holdfast::cli_tests {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

class torture : public workshop {
protected:
    [[nodiscard]] static std::vector<std::string> briefly(std::vector<std::string> more = {}) {
        std::vector<std::string> all{"torture", "--seconds", "4", "--ttl", "200ms"};
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }

    static void expect_nothing_left() {
        EXPECT_TRUE(parsed(holdfast({"ls", "--json"}).out).at("locks").as_array().empty());
    }

    /// Waits until so many workers run.
    static std::vector<pid_t> workers_of(const program& conductor, std::size_t count) {
        std::vector<pid_t> found;
        EXPECT_TRUE(comes_true(patience, [&] {
            found.clear();
            for (const auto& one : cli::descendants_of(conductor.pid())) {
                found.push_back(one.pid);
            }
            return found.size() >= count;
        }));
        return found;
    }
};

TEST_F(torture, a_sound_engine_passes) {
    const auto how = holdfast(briefly({"--seed", "7", "--json"}));
    EXPECT_EQ(how.code, 0) << how.out << how.err;
    EXPECT_EQ(how.err, "");
    const auto said = parsed(how.out);
    EXPECT_EQ(said.at("backend").as_string(), "sqlite");
    EXPECT_EQ(said.at("seed").as_string(), "7");
    EXPECT_EQ(said.at("verdict").as_string(), "nothing wrong");
    EXPECT_GT(said.at("acquisitions").as_int64(), 0);
    EXPECT_GT(said.at("faults").at("kill").at("count").as_int64(), 0);
    EXPECT_GT(said.at("faults").at("pause").at("count").as_int64(), 0);
    EXPECT_EQ(said.at("belief_overlaps").as_int64(), 0) << promise_broken;
    EXPECT_EQ(said.at("lost_updates").as_int64(), 0) << promise_broken;
    EXPECT_EQ(said.at("counter_undisturbed").at("lost").as_int64(), 0) << promise_broken;
    EXPECT_EQ(said.at("fence_regressions").as_int64(), 0) << promise_broken;
    EXPECT_EQ(said.at("orphans").as_int64(), 0);
    EXPECT_TRUE(said.at("violations").as_array().empty());
    expect_nothing_left();
}

TEST_F(torture, tells_people_the_verdict_first_and_the_seed) {
    const auto how = holdfast(briefly({"--workers", "2", "--seed", "7"}));
    EXPECT_EQ(how.code, 0) << how.out;
    EXPECT_THAT(how.out, StartsWith("nothing wrong: "));
    EXPECT_THAT(how.out, HasSubstr("\nseed "));
    EXPECT_THAT(how.out, HasSubstr("fence regressions"));
    EXPECT_THAT(how.out, HasSubstr("a lock went from one process to another"));
}

TEST_F(torture, interrupted_it_kills_its_workers_and_judges_what_was_so_far) {
    auto running = start({"torture", "--seconds", "600", "--json"});
    const auto workers = workers_of(running, 4);
    ASSERT_TRUE(comes_true(patience, [] {
        return !parsed(holdfast({"ls", "--json"}).out).at("locks").as_array().empty();
    })) << "they have begun";
    running.signal(SIGINT);
    const auto how = running.end();
    EXPECT_EQ(how.code, 130) << how.out << how.err;
    const auto said = parsed(how.out);
    EXPECT_TRUE(said.at("interrupted").as_bool());
    EXPECT_TRUE(said.at("orphans").is_null());
    for (const auto pid : workers) {
        EXPECT_TRUE(is_gone_within(pid, 1s));
    }
    expect_nothing_left();
}

TEST_F(torture, no_worker_outlives_a_conductor_that_is_killed) {
    auto running = start({"torture", "--seconds", "600"});
    const auto workers = workers_of(running, 4);
    ::kill(workers.front(), SIGSTOP); // not even one that stands still
    running.signal(SIGKILL);
    EXPECT_EQ(running.end().code, 137);
    for (const auto pid : workers) {
        EXPECT_TRUE(is_gone_within(pid, 5s));
    }
}

TEST_F(torture, an_engine_that_cannot_be_used_is_no_violation) {
    const auto how = holdfast({"torture", "sqlite:" + path("no/such/folder/locks.db"), "--json"});
    EXPECT_NE(how.code, 0);
    EXPECT_NE(how.code, 1);
    EXPECT_EQ(parsed(how.out).at("exit_code").as_int64(), how.code);
    EXPECT_THAT(how.err, StartsWith("holdfast: "));
}

TEST_F(torture, a_worker_is_nothing_for_people) {
    EXPECT_EQ(holdfast({"torture-worker"}).code, 64);
    EXPECT_NE(holdfast({"torture-worker", "1"}).code, 0);
}

// -------------------------------------------------------------------------------------- teeth

#ifdef HOLDFAST_BROKEN_CLI

struct breakage {
    const char* defect;
    const char* complaint; ///< part of one of the violations
};

std::ostream& operator<<(std::ostream& to, const breakage& one) { return to << one.defect; }

class torture_teeth : public workshop, public testing::WithParamInterface<breakage> {
protected:
    [[nodiscard]] outcome torment(const std::string& defect) const {
        return call({HOLDFAST_BROKEN_CLI,
                     "torture",
                     "--seconds",
                     "4",
                     "--ttl",
                     "200ms",
                     "--json",
                     "broken:" + defect + ",sqlite:" + path("broken.db")});
    }
};

TEST_P(torture_teeth, bite) {
    // The defects strike now and then: on a machine that hardly runs, a few seconds may be too few.
    auto how = torment(GetParam().defect);
    for (int again = 0; again < 4 && how.code == 0; ++again) {
        how = torment(GetParam().defect);
    }
    EXPECT_EQ(how.code, 1) << promise_broken << how.out << how.err;
    const auto said = parsed(how.out);
    EXPECT_EQ(said.at("verdict").as_string(), "wrong");
    std::string all;
    for (const auto& one : said.at("violations").as_array()) {
        all += std::string{one.at("what").as_string()} + "\n";
    }
    EXPECT_THAT(all, HasSubstr(GetParam().complaint)) << promise_broken;
}

INSTANTIATE_TEST_SUITE_P(all,
                         torture_teeth,
                         testing::Values(breakage{"two-holders", "at once"},
                                         breakage{"stale-fence", "a fence that was not larger"},
                                         breakage{"forgets", "at once"},
                                         breakage{"blind-release", "at once"},
                                         breakage{"extra-permit", "held a permit at once"},
                                         breakage{"lost-wakeups", "somebody waited for"}),
                         [](const auto& one) {
                             std::string name{one.param.defect};
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

class torture_wrapper : public workshop {};

TEST_F(torture_wrapper, that_breaks_nothing_is_not_blamed) {
    const auto how = call({HOLDFAST_BROKEN_CLI,
                           "torture",
                           "--seconds",
                           "4",
                           "--ttl",
                           "200ms",
                           "broken:sound,sqlite:" + path("broken.db")});
    EXPECT_EQ(how.code, 0) << how.out;
}

#endif

} // namespace
} // namespace holdfast::cli_tests
